"""A part of a long series, evenly spread."""


def spread(last: int, most: int) -> list[int]:
    """At most `most` of the numbers 1 to `last`, evenly spread, both ends included."""
    if last <= most:
        return list(range(1, last + 1))
    if most == 1:
        return [last]
    gaps = most - 1
    return [1 + (last - 1) * position // gaps for position in range(most)]
