"""The site in a real Chromium: ``nox -s site_tests`` runs these, the other tests do without one.

They need Chromium and its driver, in Debian the packages ``chromium`` and ``chromium-driver``.
"""

import base64
import os
import shutil
from pathlib import Path

import pytest
from axe_selenium_python import Axe
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

SHOTS = Path("build/screenshots")  # for people to look at
PHONE, SMALLEST, DESK = (375, 812), (320, 640), (1280, 900)
LONGEST_TAB = 400


@pytest.fixture
def browser():
    """A headless Chromium that logs what its pages try."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.fail(
            "needs chromium and chromedriver on the PATH; in Debian: "
            "apt-get install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.add_argument("--headless=new")
    options.add_argument("--disable-dev-shm-usage")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # root has none
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options=options, service=Service(driver)) as opened:
        yield opened


def look(browser, page, size=DESK, scheme="light", *, motion="reduce"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500},
    )
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": name, "value": value} for name, value in features.items()]},
    )
    browser.get(page.as_uri())


def shoot(browser, name):
    SHOTS.mkdir(parents=True, exist_ok=True)
    size = browser.execute_script(
        "return [innerWidth, Math.min(document.documentElement.scrollHeight, 4000)]"
    )
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    browser.get_screenshot_as_png()  # so that all is painted
    answer = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
    )
    (SHOTS / f"{name}.png").write_bytes(base64.b64decode(answer["data"]))


def chosen(site):
    """The stack, a PR with hostile texts, one whose branch is gone, and one between two heads."""
    return [
        site / "index.html",
        site / "4.html",
        site / "5.html",
        max((site / "4").iterdir(), key=lambda page: page.stat().st_size),
    ]


def test_axe_finds_nothing_in_either_scheme_on_a_desk_and_on_a_phone(browser, site):
    found = []
    for page in chosen(site):
        for size in (DESK, PHONE):
            for scheme in ("light", "dark"):
                look(browser, page, size, scheme)
                for details in browser.find_elements(By.TAG_NAME, "details"):
                    browser.execute_script("arguments[0].open = true", details)
                axe = Axe(browser)
                axe.inject()
                answer = axe.run()
                assert len(answer["passes"]) > 20
                found += [
                    (page.name, size, scheme, rule["id"], node["html"])
                    for rule in answer["violations"]
                    for node in rule["nodes"]
                ]
                shoot(browser, f"{page.stem}-{size[0]}-{scheme}")
    assert found == []


def test_pages_ask_for_nothing_and_run_nothing_but_their_own_script(browser, site):
    for page in sorted(site.rglob("*.html")):
        look(browser, page)
        assert browser.get_log("browser") == []
        assert browser.execute_script("return performance.getEntriesByType('resource')") == []
    asked = [
        entry["message"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
        and '"url":"file:' not in entry["message"]
    ]
    assert asked == []
    look(browser, site / "4.html")
    # What would run if some text came through unescaped does not run either.
    browser.execute_script(
        """
        const element = document.createElement("div");
        element.innerHTML = `<img src=x onerror="document.title='ran'"><b style="color: red">x</b>`;
        document.body.append(element);
        const script = document.createElement("script");
        script.textContent = "document.title = 'ran'";
        document.body.append(script);
        """
    )
    refused = [entry["message"] for entry in browser.get_log("browser")]
    assert browser.title != "ran"
    assert [("script-src" in text, "style-src" in text, "img" in text) for text in refused].count(
        (True, False, False)
    ) >= 1
    assert all("Content Security Policy" in text for text in refused)


def test_two_selects_lead_to_what_came_between(browser, site):
    look(browser, site / "4.html")
    heads = browser.find_elements(By.CSS_SELECTOR, "#old option")
    assert len(heads) == 4
    ids = [option.text.split()[0] for option in heads]
    pairs = [(0, 3), (1, 2), (3, 1)]  # the last the wrong way round
    for one, other in pairs:
        look(browser, site / "4.html")
        Select(browser.find_element(By.ID, "old")).select_by_index(one)
        Select(browser.find_element(By.ID, "new")).select_by_index(other)
        browser.find_element(By.CSS_SELECTOR, "#choose button").click()
        old, new = ids[min(one, other)], ids[max(one, other)]
        assert browser.find_element(By.TAG_NAME, "h1").text == f"#4 from {old} to {new}"
    look(browser, site / "4.html")
    Select(browser.find_element(By.ID, "new")).select_by_index(0)
    browser.find_element(By.CSS_SELECTOR, "#choose button").click()
    said = browser.find_element(By.ID, "said")
    assert (said.text, said.aria_role) == ("These are the same; choose two heads.", "status")


def test_without_scripts_the_same_pages_are_links(browser, site):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    look(browser, site / "4.html")
    assert not browser.find_element(By.ID, "choose").is_displayed()
    summary = next(
        found
        for found in browser.find_elements(By.TAG_NAME, "summary")
        if found.text == "Every two heads, as links"
    )
    summary.send_keys(Keys.ENTER)
    links = browser.find_elements(By.CSS_SELECTOR, "#pairs a")
    assert [link.is_displayed() for link in links] == [True] * 6
    links[0].send_keys(Keys.ENTER)
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("#4 from ")


@pytest.mark.parametrize("name", ["index.html", "4.html"])
def test_the_keyboard_reaches_all_in_order_and_gets_out_again(browser, site, name):
    look(browser, site / name)
    wanted = browser.execute_script(
        """
        const stops = "a[href], select, button, summary, [tabindex='0']";
        return [...document.querySelectorAll(stops)].filter((one) => one.checkVisibility());
        """
    )
    reached = []
    for _ in range(LONGEST_TAB):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        element = browser.switch_to.active_element
        if element.tag_name == "body" or element in reached:
            break  # around the page once
        reached.append(element)
        assert browser.execute_script(
            """
            const style = getComputedStyle(arguments[0]);
            const box = arguments[0].querySelector("rect");
            return (style.outlineStyle === "solid" && parseFloat(style.outlineWidth) >= 3) ||
              (box !== null && parseFloat(getComputedStyle(box).strokeWidth) >= 4);
            """,
            element,
        ), element.get_attribute("outerHTML")
    assert reached == wanted
    assert reached[0].get_attribute("textContent") == "Skip to the content"
    assert len(reached) > 8
    reached[0].send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "content"


def test_no_page_is_wider_than_a_phone(browser, site):
    for page in sorted(site.rglob("*.html")):
        for size in (PHONE, SMALLEST):
            look(browser, page, size)
            assert browser.execute_script("return document.documentElement.scrollWidth") == size[0]
    look(browser, site / "index.html", PHONE)
    picture = browser.find_element(By.CSS_SELECTOR, ".scroll")
    widths = browser.execute_script(
        "return [arguments[0].scrollWidth, arguments[0].clientWidth]", picture
    )
    assert widths[0] > widths[1]
    picture.send_keys(Keys.ARROW_RIGHT)
    browser.execute_async_script("setTimeout(arguments[0], 400)")
    assert browser.execute_script("return arguments[0].scrollLeft", picture) > 0


def test_the_scheme_and_motion_are_the_readers(browser, site):
    answers = []
    for scheme, motion in (("light", "no-preference"), ("dark", "reduce")):
        look(browser, site / "index.html", scheme=scheme, motion=motion)
        answers.append(
            browser.execute_script(
                """
                const style = getComputedStyle(document.documentElement);
                return [style.backgroundColor, style.color, style.scrollBehavior];
                """
            )
        )
    assert answers == [
        ["rgb(255, 255, 255)", "rgb(31, 35, 40)", "smooth"],
        ["rgb(13, 17, 23)", "rgb(230, 237, 243)", "auto"],
    ]


HEARD = {"banner", "navigation", "main", "contentinfo", "heading", "region", "group", "link"}


def in_order(known, node):
    """A tree's nodes as they are read."""
    yield node
    for child in node["childIds"]:
        if child in known:
            yield from in_order(known, known[child])


def test_a_screen_reader_hears_the_stack(browser, site):
    look(browser, site / "index.html")
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    known = {node["nodeId"]: node for node in nodes}
    heard = [
        (node["role"]["value"], node["name"]["value"])
        for node in in_order(known, nodes[0])
        if not node["ignored"] and node["role"]["value"] in HEARD
    ]
    title = "<script>alert('title')</script> & \"both\""
    prs = {
        "#1 List the global reads": "open, 1 behind main",
        "#2 Pass the size": "open, 1 behind main, 1 conflict settled",
        "#3 Change what only people can": "open, 1 behind main, 1 file would conflict",
        f"#4 {title}": "draft, 1 behind main, 1 file would conflict",
        "#5 Do what landed long ago": "landed",
    }
    assert heard == [
        ("link", "Skip to the content"),
        ("banner", ""),
        ("navigation", "Where you are"),
        ("link", "The stack"),
        ("main", ""),
        ("heading", "The stack"),
        ("region", "Graph"),
        ("heading", "Graph"),
        ("group", "The picture, which may scroll sideways"),
        ("group", "The stack as a graph"),
        *(("link", f"{pr}, {facts}") for pr, facts in prs.items()),
        ("region", "List"),
        ("heading", "List"),
        *((role, pr) for pr in prs for role in ("heading", "link")),
        ("contentinfo", ""),
    ]
