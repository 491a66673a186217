"""One selection for all charts and tables, in the address; and use by keyboard."""

import re

from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.conftest import OpenPage


def status(page: Page) -> Locator:
    return page.get_by_role("region", name="Selection").get_by_role("status")


def shown(page: Page) -> int:
    """How many samples the selection has."""
    return int(str(status(page).text_content()).split()[0])


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def drag(page: Page, name: str, start: float, end: float) -> None:
    """Drag over a chart, between these shares of its width and height."""
    box = page.get_by_role("img", name=name).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + box["height"] * start)
    page.mouse.down()
    for share in (0.3, 0.6, 1.0):
        at = start + share * (end - start)
        page.mouse.move(box["x"] + box["width"] * at, box["y"] + box["height"] * at)
    page.mouse.up()


def test_a_range_in_the_address_selects_rows_everywhere(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/wing/tradeoffs?r=mass:0..3")
    button = page.get_by_role("button", name="Remove the range of mass")
    expect(button).to_be_visible()
    count = shown(page)
    assert 0 < count < 16
    table = page.get_by_role("table", name="Samples")
    expect(table.get_by_role("row")).to_have_count(count + 1)
    page.get_by_role("link", name="Samples", exact=True).click()
    expect(button).to_be_visible()
    assert shown(page) == count
    button.click()
    expect(button).to_have_count(0)
    assert "r=" not in page.url


def test_a_brushed_selection_is_kept_excluded_and_restored(
    server: str, open_page: OpenPage
) -> None:
    tall: ViewportSize = {
        "width": 1280,
        "height": 1600,
    }  # the mouse must not leave the window
    page = open_page(f"{server}/#/studies/wing/tradeoffs", size=tall)
    expect(page.locator(".chart[data-drawn]")).to_have_count(2)
    drag(page, "Scatter of", 0.2, 0.7)  # inside the axes
    expect(page.get_by_role("button", name="Remove the range of mass")).to_be_visible()
    count = shown(page)
    assert 0 < count < 16
    press(page, "Keep")
    expect(page.get_by_text(f"kept {count}", exact=True)).to_be_visible()
    assert shown(page) == count
    press(page, "Restore")
    expect(status(page)).to_have_text("16 of 16 samples")
    drag(page, "Scatter of", 0.2, 0.7)
    press(page, "Exclude")
    expect(status(page)).to_have_text(f"{16 - count} of 16 samples")
    page.reload()  # the address has it all
    expect(status(page)).to_have_text(f"{16 - count} of 16 samples")


def test_a_slow_drag_along_a_parallel_axis_selects_all_of_it(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/wing/tradeoffs")
    expect(page.locator(".chart[data-drawn]")).to_have_count(2)
    chart = page.get_by_role("img", name="Parallel coordinates")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    x, y = box["x"] + 48, box["y"]  # the axis of the span, from 1 to 2
    page.mouse.move(x, y + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(x, y + 0.8 * box["height"], steps=20)
    page.mouse.up()
    expect(page.get_by_role("button", name="Remove the range of span")).to_be_visible()
    match = re.search(r"span%3A([0-9.]+)\.\.([0-9.]+)", page.url)
    assert match is not None
    low, high = map(float, match.groups())
    assert 0.4 < high - low < 0.7


def test_a_chart_has_the_same_data_as_a_table(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/wing/convergence")
    panel = page.get_by_role("region", name="Hypervolume", exact=True)
    panel.get_by_role("button", name="Table").click()
    rows = panel.get_by_role("table").get_by_role("row")
    expect(rows.nth(1)).to_be_visible()
    sort = panel.get_by_role("table").get_by_role("button", name="Step")
    sort.click()
    expect(panel.get_by_role("columnheader", name="Step")).to_have_attribute(
        "aria-sort", "ascending"
    )


def test_named_designs_and_a_target(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/wing/tradeoffs")
    designs = page.get_by_role("region", name="Designs to choose from")
    expect(designs).to_contain_text("Best mass")
    expect(designs).to_contain_text("Balanced (knee)")
    designs.get_by_role("button", name="My target").click()
    designs.get_by_label("mass [kg]").fill("2")
    designs.get_by_role("button", name="Find the nearest").click()
    expect(designs).to_contain_text("Nearest to your target")
    assert "target=mass" in page.url
    designs.get_by_role("button", name="Show sample").first.click()
    sample = page.get_by_role("region", name=re.compile(r"^Sample \d+$"))
    expect(sample).to_contain_text("from the initial design")
    expect(sample).to_contain_text("skin")


def test_a_selection_can_be_saved_as_csv(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/wing/samples?r=mass:0..3")
    expect(page.get_by_role("button", name="Remove the range of mass")).to_be_visible()
    count = shown(page)
    with page.expect_download() as download:
        page.get_by_role("region", name="Selection").get_by_role(
            "button", name="CSV"
        ).click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "sample,kind,step,span,ribs,skin,mass,drag,lift"
    assert len(lines) == count + 1


def test_tabs_are_reached_by_keyboard(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/wing")
    tabs = page.get_by_role("navigation", name="Study")
    link = tabs.get_by_role("link", name="Trade-offs")
    expect(link).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(link).to_have_attribute("aria-current", "page")
    expect(link).to_be_focused()
