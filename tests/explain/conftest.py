import pytest

from moet.explain import explorer


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from tests.browser import started_browser  # skips where there is no driver for browsers

    with started_browser(tmp_path_factory.mktemp("profile"), 1500, 1200) as driver:
        yield driver


@pytest.fixture
def show(browser, tmp_path):
    """Open an explorer page; at the end nothing may have been complained about or fetched."""
    from tests.browser import settled

    def show(*arguments, **options):
        path = tmp_path / "page.html"
        path.write_text(explorer(*arguments, **options), encoding="utf-8")
        browser.get(path.as_uri())
        settled(browser)
        return browser

    browser.get_log("browser")
    yield show
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
