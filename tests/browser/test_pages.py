"""Every page shows what it promises, also of studies with little or nothing in them."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, OpenPage
from tests.browser.seed import LARGE, MARKUP

TABS = ["", "/work", "/tradeoffs", "/convergence", "/models", "/balance", "/samples"]
TABS += ["/setup"]
# What depends on how much a study has
TABS_OF = {"wing": TABS, "empty": TABS, "failed": TABS, "one": TABS[:3]}
TABS_OF["partial"] = TABS[:3]


def has_pixels(page: Page) -> bool:
    """Whether every chart has drawn something."""
    script = """() => [...document.querySelectorAll('.chart canvas')].map(canvas => {
        const {width, height} = canvas;
        const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
        return pixels.some(value => value > 0);
    })"""
    drawn = page.evaluate(script)
    return bool(drawn) and all(drawn)


@pytest.mark.parametrize("study", TABS_OF)
def test_every_tab_of_a_study_shows_its_panels(
    server: str, open_page: OpenPage, study: str
) -> None:
    page = open_page(f"{server}/#/studies/{study}")
    expect(page.get_by_role("heading", name=study, exact=True)).to_be_visible()
    for tab in TABS_OF[study]:
        page.goto(f"{server}/#/studies/{study}{tab}")
        expect(page.locator("main .panel").first).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        expect(page.get_by_text("This part cannot be shown")).to_have_count(0)


def test_a_finished_study_draws_its_charts(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/wing/tradeoffs")
    expect(page.get_by_role("img", name="Scatter of")).to_be_visible()
    expect(page.get_by_role("img", name="Parallel coordinates")).to_be_visible()
    expect(page.locator(".chart[data-drawn]")).to_have_count(2)
    assert has_pixels(page)
    page.goto(f"{server}/#/studies/wing/convergence")
    name = re.compile("Hypervolume against slow evaluations")
    expect(page.get_by_role("img", name=name)).to_be_visible()


def test_the_list_shows_state_progress_and_health(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="wing"))
    expect(row).to_contain_text("Finished: budget used")
    expect(row).to_contain_text("16 / 16")
    expect(row.get_by_role("img", name="Hypervolume over")).to_be_visible()
    failed = page.get_by_role("row").filter(has_text="failed")
    expect(failed).to_contain_text("warning")
    expect(failed).to_contain_text("Finished without a front")
    page.get_by_label("Name contains").fill("FAIL")
    table = page.get_by_role("table", name="Studies")
    expect(table.get_by_role("row")).to_have_count(2)  # with the titles


def test_a_study_without_workers_shows_the_command_that_starts_one(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/empty")
    command = f"counterpoise worker --url {server} --study empty --objective mass="
    expect(page.get_by_text(command)).to_be_visible()
    expect(page.get_by_text("worker token of this server")).to_be_visible()


def test_the_overview_names_a_slow_worker(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/partial")
    running = page.get_by_role("region", name="Running now")
    expect(running).to_contain_text("node2 takes 2.5 times as long")
    running.get_by_role("link", name="Compare the workers").click()
    expect(page.get_by_role("region", name="Speed of the workers")).to_be_visible()


def test_markup_in_names_and_messages_is_only_text(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/wing")
    expect(page.get_by_text(f"A wing. {MARKUP}")).to_be_visible()
    page.goto(f"{server}/#/workers")
    expect(page.get_by_role("cell", name=f"node {MARKUP}")).to_be_visible()
    page.goto(f"{server}/#/studies/failed/work?state=failed")
    page.locator("main a[href^='#/jobs/']").first.click()
    expect(page.get_by_text("mesh has no elements").first).to_be_visible()
    assert page.locator("img[src='x']").count() == 0


def test_why_a_job_failed_is_two_clicks_from_the_overview(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/failed")
    page.get_by_role("link", name="Show the failed jobs").first.click()
    jobs = page.get_by_role("table", name="Jobs")
    expect(jobs.get_by_text("mesh has no elements").first).to_be_visible()
    page.locator("main a[href^='#/jobs/']").first.click()
    expect(page.get_by_role("heading", name="Log of attempt 1")).to_be_visible()


def test_fifty_thousand_samples_are_cut_but_not_the_front(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/{LARGE}/tradeoffs")
    is_complete = page.get_by_text("the front is complete")
    expect(is_complete).to_be_visible(
        timeout=4 * PATIENCE_MS
    )  # read for the first time
    expect(page.get_by_role("row").nth(5)).to_be_visible()
    assert page.get_by_role("row").count() < 100


def test_a_bar_of_the_timeline_leads_to_its_job(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/wing/work")
    chart = page.locator(".chart[data-drawn]").first
    expect(chart).to_be_visible()
    box = chart.bounding_box()
    assert box is not None
    # The first row, from the left edge of the bars: the axis begins with a run
    for x in range(192, 292, 10):
        page.mouse.click(box["x"] + x, box["y"] + 14)
        if "#/jobs/" in page.url:
            return
    raise AssertionError("no bar was hit")


def test_pages_fit_on_a_phone(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/", size={"width": 360, "height": 740})
    for path in ("/", "/workers", *(f"/studies/wing{tab}" for tab in TABS)):
        page.goto(f"{server}/#{path}")
        expect(page.locator("main .panel").first).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path
    expect(page.get_by_role("link", name="Set-up")).to_be_in_viewport()


def test_limits_are_shown_and_what_comes_nearest_to_them(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/limited/tradeoffs?y=stress")
    name = re.compile(r"stress \[MPa\] \(≤ 30\)")
    expect(page.get_by_role("img", name=name).first).to_be_visible()
    expect(page.get_by_text("infeasible or beyond a limit")).to_be_visible()
    page.goto(f"{server}/#/studies/infeasible")
    nearest = page.get_by_role("table", name="Nearest to feasible")
    expect(nearest.get_by_role("row").nth(1)).to_contain_text("stress")
    expect(page.get_by_role("region", name="Health")).to_contain_text("kept all limits")


def test_dark_mode_follows_the_system_and_a_choice_is_kept(
    server: str, open_page: OpenPage
) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page = open_page(f"{server}/", color_scheme="dark")
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    dark = page.evaluate(background)
    page.get_by_role("button", name="Use the light theme").click()
    light = page.evaluate(background)
    assert dark != light
    page.reload()
    expect(page.get_by_role("button", name="Use the dark theme")).to_be_visible()
    assert page.evaluate(background) == light


def test_an_unknown_address_says_so(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/nothing/here")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
