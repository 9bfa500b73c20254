"""What all tests share: the folder in which the processes of one run find its PostgreSQL server."""

from tests import postgres


def pytest_configure() -> None:
    postgres.share()
