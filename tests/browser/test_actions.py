"""Roles, actions and new studies."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import (
    ADMIN_TOKEN,
    READ_TOKEN,
    REFUSED,
    OpenPage,
    Watch,
    sign_in,
)


def test_readers_see_no_actions_and_admins_confirm_theirs(
    server: str, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(REFUSED)
    watch.allow("status of 422")  # a budget that is too large
    page = open_page(f"{server}/#/studies/steered", fresh=True)
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
    server: str, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(REFUSED)
    page = open_page(f"{server}/#/studies/wing", fresh=True)
    sign_in(page, READ_TOKEN)
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    page.context.clear_cookies()
    # Not by a click on the link: the page may notice first, and the link is gone.
    page.evaluate("location.hash = '#/studies/wing/models'")
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    sign_in(page, READ_TOKEN)
    expect(page.get_by_role("heading", name="Assessments")).to_be_visible()


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


def test_a_new_study_evaluates_a_point(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/new")
    text = (
        "name: beam\nvariables:\n  - {name: length, low: 1, high: 2}\n"
        "objectives:\n  - {name: mass}\nbudget: 20\n"
    )
    page.get_by_role("textbox", name="Specification").fill(text)
    page.get_by_role("button", name="Create the study").click()
    expect(page.get_by_role("heading", name="beam")).to_be_visible()
    page.get_by_role("link", name="Samples", exact=True).click()
    page.get_by_role("button", name="Evaluate a point").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("length").fill("1.5")
    dialog.get_by_label("leave it out of the budget").check()
    dialog.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_role("cell", name="1.5")).to_be_visible()
    page.get_by_role("link", name="Set-up").click()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_label("Type beam to confirm").fill("beam")
    dialog.get_by_role("button", name="Delete the study").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()


def test_the_form_writes_the_specification(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/new")
    page.get_by_role("button", name="Form").click()
    page.get_by_label("Strategy").select_option("counterpoise")
    page.get_by_label("Budget").fill("70")
    page.get_by_role("button", name="YAML").click()
    text = page.get_by_role("textbox", name="Specification")
    expect(text).to_have_value(re.compile("strategy: counterpoise"))
    expect(text).to_have_value(re.compile("budget: 70"))
    text.fill("variables: hello")
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_role("alert")).to_contain_text("variables")
    expect(text).to_have_value("variables: hello")


@pytest.mark.slow
def test_the_reference_works_offline_behind_a_path_prefix(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/docs")
    expect(page.get_by_text("Create a study").first).to_be_visible()
