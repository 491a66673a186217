"""The timeline of worker slots: which slot an attempt took, bursts of short attempts,
and how busy slots were.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from counterpoise.wire.codes import FailureKind, Outcome

Slot = tuple[int, int]  # worker, and its slot from 0
FAILED = (Outcome.FAILED, Outcome.EXPIRED)
# A worker asks for the next job while its result is on the way: the server may lease the
# next one first, and until then both attempts are open.
HANDOVER_S = 0.5


@dataclass(frozen=True, slots=True)
class SlotAttempt:
    """An attempt, as far as the timeline needs it."""

    id: int
    job: int
    number: int
    objective: int
    worker: int
    started_at: float
    ended_at: float | None
    outcome: Outcome | None
    failure: FailureKind | None
    duration_s: float | None = None  # as the worker measured it

    @property
    def took_s(self) -> float | None:
        """None while it runs."""
        if self.ended_at is None or self.duration_s is not None:
            return self.duration_s
        return self.ended_at - self.started_at

    def end(self, now: float) -> float:
        """When it ended, or now if it is running; never before its start, even if the
        clock was set back.
        """
        return max(now if self.ended_at is None else self.ended_at, self.started_at)


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt in its slot, or several short ones that follow each other closely."""

    slot: Slot
    attempts: tuple[SlotAttempt, ...]
    start: float
    end: float

    @property
    def failed(self) -> int:
        return sum(attempt.outcome in FAILED for attempt in self.attempts)

    @property
    def only(self) -> SlotAttempt | None:
        return self.attempts[0] if len(self.attempts) == 1 else None


@dataclass(slots=True)
class SlotAssignment:
    """Assigns each attempt to the lowest slot of its worker that is free when it
    begins, or is handed over soon after, if the worker declared no more slots.

    Attempts are given in the order in which they began.
    """

    now: float
    declared: Mapping[int, int] = field(default_factory=dict)  # slots by worker
    # By worker, the attempt that took each slot last
    holders: dict[int, list[SlotAttempt | None]] = field(default_factory=dict)

    def assign(self, attempt: SlotAttempt) -> Slot:
        slots = self.holders.setdefault(attempt.worker, [])
        for number, holder in enumerate(slots):
            if holder is None or holder.end(self.now) <= attempt.started_at:
                slots[number] = attempt
                return attempt.worker, number
        if len(slots) >= self.declared.get(attempt.worker, math.inf):
            for number, holder in enumerate(slots):
                if holder is not None and _hands_over(holder, attempt):
                    slots[number] = attempt
                    return attempt.worker, number
        slots.append(attempt)
        return attempt.worker, len(slots) - 1

    def occupy(self, attempt: SlotAttempt, number: int) -> None:
        """The attempt is known to be in this slot."""
        slots = self.holders.setdefault(attempt.worker, [])
        slots.extend([None] * (number + 1 - len(slots)))
        slots[number] = attempt

    def held_at(self, time: float) -> Iterator[tuple[SlotAttempt, int]]:
        """Attempts that still hold a slot at this time, with the slot's number."""
        for slots in self.holders.values():
            for number, holder in enumerate(slots):
                if holder is not None and holder.end(self.now) > time:
                    yield holder, number


def _hands_over(holder: SlotAttempt, attempt: SlotAttempt) -> bool:
    """Whether the attempt may have followed the holder in its slot, although the holder
    ended a moment later. Attempts that were leased together cannot.
    """
    if holder.ended_at is None or holder.started_at >= attempt.started_at:
        return False
    return holder.ended_at - attempt.started_at <= HANDOVER_S


def merge_bursts(
    assigned: Sequence[tuple[SlotAttempt, Slot]], resolution_s: float, now: float
) -> list[Bar]:
    """Bars in the order in which they begin.

    Ended attempts that are shorter than the resolution, in one slot and with gaps
    shorter than it, become one bar.
    """
    groups: list[tuple[Slot, list[SlotAttempt]]] = []
    growing: dict[Slot, list[SlotAttempt]] = {}  # the slot's last group, if it may grow
    for attempt, slot in assigned:
        is_short = _is_short(attempt, resolution_s)
        group = growing.get(slot)
        if is_short and group and _follows(attempt, group[-1], resolution_s, now):
            group.append(attempt)
            continue
        group = [attempt]
        groups.append((slot, group))
        if is_short:
            growing[slot] = group
        else:
            growing.pop(slot, None)
    return [_bar(slot, group, now) for slot, group in groups]


def _is_short(attempt: SlotAttempt, resolution_s: float) -> bool:
    if attempt.ended_at is None:
        return False
    return attempt.ended_at - attempt.started_at < resolution_s


def _follows(
    attempt: SlotAttempt, last: SlotAttempt, resolution_s: float, now: float
) -> bool:
    return attempt.started_at - last.end(now) < resolution_s


def _bar(slot: Slot, group: Sequence[SlotAttempt], now: float) -> Bar:
    end = max(attempt.end(now) for attempt in group)
    return Bar(slot, tuple(group), group[0].started_at, end)


@dataclass(slots=True)
class SlotTime:
    """How one slot spent a span of time."""

    first: float
    last: float
    busy_s: dict[int, float] = field(default_factory=dict)  # by objective


@dataclass(slots=True)
class ObjectiveTime:
    """How the slots that ran one objective spent their time."""

    slots: int = 0
    busy_s: float = 0.0
    other_s: float = 0.0
    idle_s: float = 0.0

    @property
    def share(self) -> float | None:
        total_s = self.busy_s + self.other_s + self.idle_s
        return (self.busy_s + self.other_s) / total_s if total_s > 0 else None


def utilisation(
    assigned: Sequence[tuple[SlotAttempt, Slot]],
    start: float,
    end: float,
    now: float,
    idle_until: Mapping[int, float],
) -> dict[int, ObjectiveTime]:
    """By objective; only the part of each attempt between start and end counts.

    A slot idles from its first run until its last, or until the time of its worker.
    """
    found: dict[int, ObjectiveTime] = {}
    for (worker, _), slot in _slot_times(assigned, start, end, now).items():
        busy_s = sum(slot.busy_s.values())
        last = max(slot.last, min(idle_until.get(worker, slot.last), end))
        idle_s = max(last - slot.first - busy_s, 0.0)
        for objective, own_s in slot.busy_s.items():
            time = found.setdefault(objective, ObjectiveTime())
            time.slots += 1
            time.busy_s += own_s
            time.other_s += busy_s - own_s
            time.idle_s += idle_s
    return found


def _slot_times(
    assigned: Sequence[tuple[SlotAttempt, Slot]],
    start: float,
    end: float,
    now: float,
) -> Mapping[Slot, SlotTime]:
    slots: dict[Slot, SlotTime] = {}
    for attempt, slot in assigned:
        begins = max(attempt.started_at, start)
        ends = min(attempt.end(now), end)
        if ends < begins:
            continue
        time = slots.setdefault(slot, SlotTime(begins, ends))
        time.first = min(time.first, begins)
        time.last = max(time.last, ends)
        before_s = time.busy_s.get(attempt.objective, 0.0)
        time.busy_s[attempt.objective] = before_s + ends - begins
    return slots
