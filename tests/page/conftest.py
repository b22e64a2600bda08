"""The page in a real browser: Debian's chromium, driven by selenium. `./test --page` installs both."""

import os
import pathlib
import shutil
import sys

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from server_process import ServerProcess  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "core: one of the five cases that ./test runs where chromium is installed")


@pytest.fixture(scope="session")
def server():
    with ServerProcess() as running:
        yield running


@pytest.fixture(scope="session")
def driver():
    options = Options()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield running
    running.quit()


class Page:
    def __init__(self, driver, server):
        self.driver, self.server = driver, server

    def open(self, view="chat"):
        self.driver.get("about:blank")
        self.driver.get(f"{self.server.url}/#{view}")
        return self

    def wait(self, condition, seconds=40):
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(condition)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """The text of all such elements in one call: the page may draw them anew at any time."""
        return self.driver.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join('\\n')", selector)

    def button(self, text):
        return self.driver.find_element(By.XPATH, f"//button[normalize-space()='{text}']")

    def field(self, label):
        """The field that a label names."""
        return self.driver.find_element(By.ID, self.driver.find_element(By.XPATH, f"//label[normalize-space()='{label}']").get_attribute("for"))

    def fill(self, label, text):
        self.field(label).clear()
        self.field(label).send_keys(text)

    def choose(self, label, option):
        Select(self.field(label)).select_by_visible_text(option)

    def send(self, text):
        self.fill("Message", text)
        self.find("#send").click()

    def answer(self):
        """The last answer, once it is whole."""
        self.wait(lambda _: not self.find("#stop").is_enabled() and self.all(".message.assistant"))
        return self.all(".message.assistant .body")[-1].text

    def use_theme(self, theme):
        self.driver.execute_script("localStorage.setItem('inferflux-theme', arguments[0])", theme)

    def problems(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def screenshot(self, name):
        """The whole view as a picture, where INFERFLUX_SCREENSHOTS names a folder."""
        if folder := os.environ.get("INFERFLUX_SCREENSHOTS"):
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(f"{folder}/{name}.png")


@pytest.fixture()
def page(driver, server):
    opened = Page(driver, server).open()
    driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    driver.get_log("browser"), driver.get_log("performance")
    return opened.open()


@pytest.fixture()
def page_of(driver):
    """The page of another server; its own end leaves no messages behind."""
    yield lambda own, view="chat": Page(driver, own).open(view)
    driver.get("about:blank")
    driver.get_log("browser")
