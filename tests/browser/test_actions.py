"""Roles, actions, and a page whose server goes away."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import (
    ADMIN_TOKEN,
    READ_TOKEN,
    OpenPage,
    Watch,
    copy_of,
)
from tests.e2e.processes import free_port, serving

REFUSED = "status of 401"


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_readers_see_no_actions_and_admins_confirm_theirs(
    guarded_server: str, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(REFUSED)
    watch.allow("status of 422")  # a budget that is too large
    page = open_page(f"{guarded_server}/#/studies/empty", fresh=True)
    sign_in(page, "not-a-token-of-this-server")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, READ_TOKEN)
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, ADMIN_TOKEN)
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Running jobs go on")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.get_by_role("button", name="Extend").click()
    page.get_by_label("New budget").fill("1000001")
    page.get_by_role("dialog").get_by_role("button", name="Extend").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.evaluate("location.hash = '#/workers'")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_expired_cookie_leads_to_the_login_and_back(
    guarded_server: str, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(REFUSED)
    page = open_page(f"{guarded_server}/#/studies/wing", fresh=True)
    sign_in(page, READ_TOKEN)
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    page.context.clear_cookies()
    # Not by a click on the link: the page may notice first, and the link is gone.
    page.evaluate("location.hash = '#/studies/wing/models'")
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    sign_in(page, READ_TOKEN)
    expect(page.get_by_role("heading", name="Assessments")).to_be_visible()


def test_a_page_survives_restarts_of_the_server(
    seeded: Path, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow("Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE")
    watch.allow(REFUSED)
    database_url = copy_of(seeded, "restarted")
    port = free_port()
    tokens = {"COUNTERPOISE_READ_TOKENS": READ_TOKEN}
    with serving(database_url, "--no-planner", port=port, **tokens) as (url, _):
        page = open_page(f"{url}/#/studies/wing", fresh=True)
        sign_in(page, READ_TOKEN)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("has not responded since")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    with serving(database_url, "--no-planner", port=port, **tokens):
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
    # The tokens have changed meanwhile, and with them the key that signs cookies.
    tokens = {"COUNTERPOISE_READ_TOKENS": "another-token-of-the-tests"}
    with serving(database_url, "--no-planner", port=port, **tokens):
        expect(page.get_by_text("Your session has ended")).to_be_visible()


def test_a_change_appears_without_a_reload(
    guarded_server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{guarded_server}/#/studies/one", fresh=True)
    sign_in(page, READ_TOKEN)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    other = open_page(f"{guarded_server}/#/studies/one", fresh=True)
    sign_in(other, ADMIN_TOKEN)
    other.get_by_role("button", name="Pause").click()
    other.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()


def test_faults_of_a_new_study_are_shown_at_their_lines(
    server: str, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow("status of 422")
    page = open_page(f"{server}/#/new")
    text = (
        "name: bad name\nvariables:\n  - {name: a, low: 2, high: 1}\n"
        "objectives:\n  - {name: f, direction: up}\nbudget: 5\n"
    )
    page.get_by_role("textbox", name="Specification").fill(text)
    page.get_by_role("button", name="Create the study").click()
    alert = page.get_by_role("alert")
    for line in ("Line 1", "Line 3", "Line 5"):
        expect(alert).to_contain_text(line)


def test_the_form_writes_the_specification(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/new")
    page.get_by_role("button", name="Form").click()
    page.get_by_label("Strategy").select_option("counterpoise")
    page.get_by_label("Budget").fill("70")
    page.get_by_role("button", name="YAML").click()
    text = page.get_by_role("textbox", name="Specification")
    expect(text).to_have_value(re.compile("strategy: counterpoise"))
    expect(text).to_have_value(re.compile("budget: 70"))


def test_pages_and_the_reference_work_offline_behind_a_path_prefix(
    guarded_server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{guarded_server}/#/studies/wing/tradeoffs", fresh=True)
    sign_in(page, READ_TOKEN)
    expect(page.get_by_role("img", name="Scatter of")).to_be_visible()
    page.goto(f"{guarded_server}/docs")
    expect(page.get_by_text("Create a study").first).to_be_visible()
