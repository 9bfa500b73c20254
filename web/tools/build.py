"""Build the page into the package, unless nothing has changed since it was last built."""

from hashlib import sha256

from web.tools import node

PAGE = node.WEB.parent / "src/codefleet/doors/http/page"
STAMP = PAGE / ".built-from"
SOURCES = ("src/**/*", "*.json", "*.ts", "index.html")


def build() -> None:
    """Build the page."""
    with node.alone():
        state = _state()
        if STAMP.is_file() and STAMP.read_text() == state:
            return
        node.install()
        node.run("vite", "build", "--logLevel=warn")
        STAMP.write_text(state)


def _state() -> str:
    """What the page is built from, as one word."""
    files = sorted(file for each in SOURCES for file in node.WEB.glob(each) if file.is_file())
    words = (
        f"{file.relative_to(node.WEB)} {sha256(file.read_bytes()).hexdigest()}" for file in files
    )
    return sha256("\n".join(words).encode()).hexdigest()


if __name__ == "__main__":
    build()
