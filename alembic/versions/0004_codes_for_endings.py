"""Store why a study is finished as a code, with the sentence for people beside it in
the event.

Revision: 0004 Follows: 0003
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BUDGET_USED, STOPPED = "the budget is used up", "it was stopped"
EXHAUSTED = (
    "there is no new point to propose"  # the optimiser had several sentences for this
)
CODES = {BUDGET_USED: "budget_used", STOPPED: "stopped"}
SENTENCES = {
    "budget_used": BUDGET_USED,
    "stopped": STOPPED,
    "space_exhausted": EXHAUSTED,
}

DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
studies = sa.table("studies", sa.column("id"), sa.column("ending"))
events = sa.table(
    "events",
    sa.column("study_id"),
    sa.column("seq"),
    sa.column("kind"),
    sa.column("body", DOCUMENT),
)


def upgrade() -> None:
    _rewrite(lambda sentence: CODES.get(sentence, "space_exhausted"), _with_code)


def downgrade() -> None:
    _rewrite(lambda code: SENTENCES.get(code, EXHAUSTED), _with_sentence)


def _with_code(body: dict[str, Any]) -> dict[str, Any]:
    sentence = body.get("reason") or EXHAUSTED
    return {"reason": CODES.get(sentence, "space_exhausted"), "detail": sentence}


def _with_sentence(body: dict[str, Any]) -> dict[str, Any]:
    return {"reason": body.get("detail") or EXHAUSTED}


def _rewrite(
    ending: Callable[[str], str], body: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Change the ending of every finished study and of every event that reported one: a
    few rows for each study.
    """
    connection = op.get_bind()
    for study in connection.execute(
        sa.select(studies).where(studies.c.ending.is_not(None))
    ).all():
        connection.execute(
            sa.update(studies)
            .where(studies.c.id == study.id)
            .values(ending=ending(study.ending))
        )
    for event in connection.execute(
        sa.select(events).where(events.c.kind == "finished")
    ).all():
        this = (events.c.study_id == event.study_id, events.c.seq == event.seq)
        connection.execute(sa.update(events).where(*this).values(body=body(event.body)))
