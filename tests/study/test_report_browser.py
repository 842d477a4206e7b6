"""The page as people meet it: hover, click, keys, toggles, in a real browser."""

import pytest

from moet.study.report import report_page, task_reports
from tests.browser import needs_browser, started_browser, webdriver

from .making import outcome

pytestmark = [pytest.mark.processes, needs_browser]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with started_browser(tmp_path_factory.mktemp("profile"), 1200, 1400) as driver:
        yield driver


PROOF = {"question": "it stays upright", "verdict": "Proved", "seconds": 0.25}
OUTCOMES = (
    outcome("VIPER", (150.0, 0.8), (140.0, 0.7), depth=1),
    outcome("VIPER", (190.0, 0.9), (180.0, 0.88), depth=4),
    outcome("MoËT_h", (200.0, 0.99), (199.0, 0.98), experts=2, depth=0, verification=PROOF),
    outcome("MoËT", (150.0, 0.995), (151.0, 0.996), experts=4, depth=0),
)


@pytest.fixture
def show(driver, tmp_path):
    """Open a page; nothing may be complained about while it is."""

    def show(outcomes):
        path = tmp_path / "report.html"
        path.write_text(report_page(task_reports(outcomes)), encoding="utf-8")
        driver.get(path.as_uri())
        return driver

    yield show
    assert driver.get_log("browser") == []


@pytest.fixture
def browser(show):
    return show(OUTCOMES)


def marks(browser, panel, selector=""):
    return browser.find_elements("css selector", f".fronts figure:nth-child({panel}) .mark{selector}")


def words(browser, selector):
    return browser.find_element("css selector", selector).text


def test_hover_shows_the_configuration(browser):
    (hard,) = marks(browser, 1, ".family-2")
    webdriver.ActionChains(browser).move_to_element(hard).perform()
    tip = words(browser, "#tip")
    assert tip.startswith("MoËT_h E2-D0, seed 0")
    assert "before: reward 200.00 (199.00 … 201.00), fidelity 0.9900" in tip
    assert "after: reward 199.00 (198.00 … 200.00), fidelity 0.9800" in tip
    assert "twin" in marks(browser, 2, ".family-2")[0].get_attribute("class")


def test_click_shows_the_policy(browser):
    marks(browser, 2, ".family-2")[0].click()
    assert words(browser, "#policy-title") == "MoËT_h E2-D0, seed 0"
    assert words(browser, "#policy pre").endswith("if 1*x > 0 then right else left")
    browser.find_element("id", "policy-close").click()
    assert not browser.find_element("id", "policy").is_displayed()


def test_the_keyboard_is_enough(browser):
    keys = webdriver.Keys
    browser.find_element("css selector", ".fronts input[type=radio]:checked").send_keys(keys.TAB)
    first = browser.switch_to.active_element
    assert first.get_attribute("aria-label").startswith("VIPER D4")
    first.send_keys(keys.ARROW_RIGHT)
    second = browser.switch_to.active_element
    assert second.get_attribute("aria-label").startswith("MoËT_h E2-D0")
    second.send_keys(keys.ENTER)
    assert browser.find_element("id", "policy").is_displayed()
    browser.switch_to.active_element.send_keys(keys.ESCAPE)
    assert browser.switch_to.active_element == second


def test_toggles_choose_what_is_shown(browser):
    assert [len(marks(browser, panel)) for panel in (1, 2)] == [3, 3]
    browser.find_elements("css selector", ".fronts input[type=radio]")[1].click()
    assert len(marks(browser, 1)) == 4
    browser.find_elements("css selector", ".fronts input[type=checkbox]")[0].click()
    assert len(marks(browser, 1)) == 2
    assert marks(browser, 1, ".family-0") == []


def test_fronts_and_curves_are_drawn(browser):
    assert len(browser.find_elements("css selector", ".stairs.global")) == 2
    assert len(browser.find_elements("css selector", ".saturation .curve")) == 2
    assert len(browser.find_elements("css selector", ".tail")) == 3
    (solid,) = marks(browser, 2, ".solid.family-1")
    assert "on the global front" in solid.get_attribute("aria-label")


def test_times_of_proofs_are_drawn(browser):
    (mark,) = browser.find_elements("css selector", ".verification .mark")
    assert mark.get_attribute("aria-label").endswith("it stays upright: Proved, 0.25 s")


@pytest.mark.parametrize("k", range(len(OUTCOMES)))
def test_one_run_is_enough_for_a_page(show, k):
    browser = show(OUTCOMES[k : k + 1])
    for panel in (1, 2):
        (mark,) = marks(browser, panel)
        assert "NaN" not in mark.get_attribute("transform")
    assert "NaN" not in browser.page_source


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_window(browser, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
