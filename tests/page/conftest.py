"""The page in a real browser: Debian's chromium, driven by selenium. `./test --page` installs both."""

import pathlib
import shutil
import sys

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from server_process import ServerProcess  # noqa: E402


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

    def wait(self, condition, seconds=20):
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(condition)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def button(self, text):
        return self.driver.find_element(By.XPATH, f"//button[normalize-space()='{text}']")

    def send(self, text):
        field = self.driver.find_element(By.XPATH, "//label[normalize-space()='Message']/following-sibling::textarea")
        field.send_keys(text)
        self.find("#send").click()

    def answer(self):
        """The last answer, once it is whole."""
        self.wait(lambda _: not self.find("#stop").is_enabled() and self.all(".message.assistant"))
        return self.all(".message.assistant .body")[-1].text

    def problems(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture()
def page(driver, server):
    opened = Page(driver, server).open()
    driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    driver.get_log("browser"), driver.get_log("performance")
    return opened.open()
