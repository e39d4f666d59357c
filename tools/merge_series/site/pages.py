"""The site's pages. Everything in them is escaped but the HTML that ``prose`` made."""

import base64
import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from merge_series.review.commits import Commit
from merge_series.review.markdown import reads_text, sync_text
from merge_series.review.patches import Patch
from merge_series.review.since import Since
from merge_series.review.words import commits_by_owner
from merge_series.site.changed import ChangedFile, changed_files
from merge_series.site.highlight import Highlighter
from merge_series.site.layout import HEIGHT, MAIN, WIDTH, lay_out
from merge_series.site.prose import prose
from merge_series.site.reading import Page, Reader
from merge_series.site.shown import shown
from stack.git_answers import Sha
from stack.model import PullRequest, Series
from stack.repository import Repository
from stack.words import counted

INDEX = "index.html"
_TEXTS = ("Why", "What", "Tests", "Compatibility")
_SHORT = 9
_LONG = 12  # in the names of files
# What fits into a box of the picture, in characters.
_TITLE, _TITLE_LINES, _FACT = 30, 2, 36
_CUT = " …"


def page_of(pull_request: PullRequest) -> str:
    """The file of a PR's page."""
    return f"{pull_request.number}.html"


def between_of(pull_request: PullRequest, old: Sha, new: Sha) -> str:
    """The file of the page with what there is to read between two heads of a PR."""
    return f"{pull_request.number}/{old[:_LONG]}-{new[:_LONG]}.html"


class Renderer:
    """Renders the pages of a site.

    Args:
        repository: The fork, opened with a temporary object folder.
        series: The stack.
        main: The commit of main.
    """

    def __init__(self, repository: Repository, series: Series, main: Commit) -> None:
        self._repository = repository
        self._highlighter = Highlighter(repository)
        templates = Environment(
            loader=PackageLoader("merge_series.site"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=_finalize,
        )
        style, script = _resource("site.css"), _resource("site.js")
        templates.filters |= {"short": _short, "prose": prose, "plural": counted, "begun": _begun}
        templates.globals |= {
            "style": style,
            "script": script,
            # Scripts and styles by their hash alone: an address would mean another thing to each
            # browser where the page is a file, and no text of a repository has this hash.
            "policy": (
                "default-src 'none'; base-uri 'none'; form-action 'none'; "
                f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
            ),
            "main": main,
            "index_page": INDEX,
            "page_of": page_of,
            "between_of": between_of,
        }
        self._templates = templates
        self._series = series

    def site(self, reader: Reader, pages: Sequence[Page]) -> Iterator[tuple[str, bytes]]:
        """Every page of the site with its file."""
        yield INDEX, self._render("stack", root="", **self._stack(pages))
        for page in pages:
            pull_request = page.description.pull_request
            yield page_of(pull_request), self._render("pr", root="", **self._pull_request(page))
            if page.branch is None:
                continue
            for old, new, between in reader.between(page.branch):
                yield (
                    between_of(pull_request, old.sha, new.sha),
                    self._render(
                        "between", root="../", **self._between(pull_request, old, new, between)
                    ),
                )

    def _render(self, template: str, **values: object) -> bytes:
        text = self._templates.get_template(f"{template}.html").render(values)
        return text.encode("utf-8")

    def _stack(self, pages: Sequence[Page]) -> dict[str, object]:
        layout = lay_out(self._series)
        nodes = [
            {
                "page": page,
                "at": layout.boxes[page.description.pull_request.number],
                "title": _wrapped(page.description.pull_request.title),
                "fact": textwrap.shorten(", ".join(facts(page)), _FACT, placeholder=_CUT),
            }
            for page in pages
        ]
        return {
            "pages": pages,
            "facts": facts,
            "part_of": pages[0].description.part_of,
            "picture": layout,
            "nodes": nodes,
            "box": (WIDTH, HEIGHT),
            "main_at": layout.boxes[MAIN],
        }

    def _pull_request(self, page: Page) -> dict[str, object]:
        description, branch = page.description, page.branch
        pull_request = description.pull_request
        texts = pull_request.texts
        return {
            "page": page,
            "pr": pull_request,
            "below": self._series.dependencies(pull_request),
            "above": [pr for pr in self._series if pull_request.number in pr.depends_on],
            "branch": branch,
            "facts": facts(page),
            "texts": [(name, texts[name]) for name in _TEXTS if texts.get(name)],
            "synced": description.synced and sync_text(description.synced),
            "reads": description.reads and reads_text(description.reads),
            "files": self._files(branch.alone.patch) if branch else (),
        }

    def _between(
        self, pull_request: PullRequest, old: Commit, new: Commit, between: Since
    ) -> dict[str, object]:
        to_read = [step for step in between.steps if step.is_to_be_read]
        taken = [r for step in between.steps if (r := step.recording) and not step.is_to_be_read]
        return {
            "pr": pull_request,
            "old": old,
            "new": new,
            "to_read": [(step, self._files(step.patch)) for step in to_read],
            "unchanged": [
                step.commit
                for step in between.steps
                if not step.is_to_be_read and step.recording is None
            ],
            "recordings": [recording for recording in taken if recording.only_records],
            "others": [recording for recording in taken if not recording.only_records],
            "left_out": commits_by_owner(between.left_out),
        }

    def _files(self, patch: Patch) -> tuple[ChangedFile, ...]:
        return changed_files(self._repository, self._highlighter, patch)


def facts(page: Page) -> list[str]:
    """Where a PR stands, in a few words each: against main and the stack, and its conflicts."""
    if page.branch is None or not page.status.is_synced:
        return []
    said = [page.status.summary]
    paths = {path for clash in page.branch.clashes for path in clash.paths}
    if paths:
        said.append(f"{counted(len(paths), 'file')} would conflict")
    synced = page.description.synced
    if synced is not None and synced.settled:
        said.append(f"{counted(len(synced.settled), 'conflict')} settled")
    return said


def _wrapped(title: str) -> list[str]:
    return textwrap.wrap(shown(title), _TITLE, max_lines=_TITLE_LINES, placeholder=_CUT)


def _finalize(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return shown(value)
    return value


def _short(sha: Sha) -> str:
    return sha[:_SHORT]


def _begun(text: str) -> str:
    """Words as the beginning of a sentence; what comes after the first letter stays."""
    return text[:1].upper() + text[1:]


def _resource(name: str) -> Markup:
    file = resources.files("merge_series.site") / "templates" / name
    return Markup(file.read_text("utf-8"))  # noqa: S704 - a file of this program


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
