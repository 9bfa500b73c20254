"""Settings: `fleet.toml` files, FLEET_* variables and flags -> one frozen Config.

The Config records where each value came from. From weakest to strongest: the default, the home's
file, its table for the repo, a FLEET_* variable, a flag. The repo's own file can only be stricter
than the home's.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import ValidationError

from codefleet.config.layers import FILE, Layer, file_layer, repo_tables, variable_layers
from codefleet.config.legacy import OLD_HOME
from codefleet.config.repo_file import RepoFile, kept
from codefleet.config.settings import FLEET_WIDE, KEYS, NOT_IN_A_REPO, Coders, Config, meanings
from codefleet.config.tightening import remark, tightened
from codefleet.domain import command
from codefleet.domain.errors import BadConfig, Invalid
from codefleet.domain.permissions import Rule, Ruling
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.validation import Complaint, complaint


def fleet_home(env: Mapping[str, str]) -> Path:
    """The fleet's own folder: $FLEET_HOME, or its older name, or ~/.fleet."""
    named = env.get("FLEET_HOME") or env.get(OLD_HOME)
    return Path(named).expanduser().absolute() if named else Path.home() / ".fleet"


def load(
    home: Path,
    *,
    file: Path | None = None,
    repo: RepoFile | None = None,
    repo_name: str | None = None,
    env: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
) -> Config:
    """Read all settings that apply here; refuse the first invalid one, and say where it is.

    With a `file`, that one replaces the home's own. A repo's own file is read from the home's copy,
    unless one is given.
    """
    layers = [*_home_layers(file or home / FILE, repo_name)]
    if own := repo or (kept(home, repo_name) if repo_name else None):
        layers.append(repo_layer(own))
    layers += variable_layers(env)
    layers.append(Layer("flag", {k: v for k, v in (flags or {}).items() if v is not None}))
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        check(layer)
        for key, value in layer.values.items():
            if _is_repos_own(layer):
                held = tightened(key, merged.get(key), value, is_set=key in merged)
                holds = held == value or key in ("checks", "policy")
                weaker = sources.get(key, "default")
                sources[key] = layer.source if holds else remark(weaker, value)
                merged[key] = held
            else:
                merged[key] = _laid_over(key, merged.get(key), value)
                sources[key] = layer.source
    return msgspec.convert(merged, Config).evolve(sources=sources)


def repo_layer(own: RepoFile) -> Layer:
    """The settings of a repo's own file, which is not trusted."""
    if own.trouble:
        raise BadConfig(own.trouble, hint=f"commit a plain {FILE} to the trunk, or remove it")
    return file_layer(Path(own.place), in_repo=True, text=own.text)


def trouble_of(own: RepoFile) -> str:
    """What is wrong with a repo's own file, regardless of the home's; empty if nothing is."""
    try:
        check(repo_layer(own))
    except BadConfig as wrong:
        return wrong.problem
    return ""


def _is_repos_own(layer: Layer) -> bool:
    return layer.forbidden == NOT_IN_A_REPO


def _home_layers(file: Path, repo_name: str | None) -> Iterator[Layer]:
    main = file_layer(file)
    yield main
    for table in repo_tables(main):
        check(table)  # also those of other repos, to report an error at once
        if table.table == f"repos.{repo_name}":
            yield table


def check(layer: Layer) -> None:
    """Refuse the first invalid setting, and say where it is."""
    for key in sorted(layer.forbidden & layer.values.keys()):
        raise BadConfig(
            f"{layer.place(key)}: {key} cannot be set here",
            hint=f"set it for the whole fleet: `fleet config set {key} VALUE`"
            if key in FLEET_WIDE
            else f"put it in the home's fleet.toml; for one repo: [repos.NAME] {key}",
        )
    for key, value in _single(layer.values):
        if key not in KEYS:
            raise unknown(key, layer.place(key))
        kind = Coders if key == "coders" else Config
        try:
            msgspec.convert({key: value}, kind)
        except ValidationError as wrong:
            raise _explained(layer, key, complaint(kind, {key: value}, wrong)) from None
    _check_commands(layer)
    _check_policy(layer, msgspec.convert(layer.values, Config).policy)


def _single(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings one by one, and tables entry by entry, so that the error names the right one."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from ((key, {name: inside}) for name, inside in value.items())
        else:
            yield key, value


def _check_commands(layer: Layer) -> None:
    setup = layer.values.get("setup")
    commands = {"checks": layer.values.get("checks", ()), "setup": () if setup is None else [setup]}
    for key, said in commands.items():
        try:
            command.valid(said)
        except Invalid as wrong:
            problem = f"{layer.place(key)}: {key}: {wrong.problem}"
            raise BadConfig(problem, hint=wrong.hint) from None


def _check_policy(layer: Layer, policy: Sequence[Rule]) -> None:
    """A repo's file is not trusted: it may forbid its agents more, but not allow more."""
    allows = any(rule.then is Ruling.ALLOW for rule in policy)
    if allows and _is_repos_own(layer):
        raise BadConfig(
            f"{layer.place('policy')}: a repo's own file can deny and ask, but not allow",
            hint="put it in the home's fleet.toml; for one repo, under [[repos.NAME.policy]]",
        )


def _explained(layer: Layer, key: str, found: Complaint) -> BadConfig:
    goes_on = found.what.startswith("should ")
    wrong = f"{found.place} {found.what}" if goes_on else f"{found.place}: {found.what}"
    return BadConfig(f"{layer.place(key)}: {wrong}", hint=f"{key}: {meanings()[key]}")


def unknown(key: str, place: str = "") -> BadConfig:
    """The error for a setting that does not exist."""
    return BadConfig(
        f"{place}: there is no setting {key!r}" if place else f"there is no setting {key!r}",
        hint=did_you_mean(key, KEYS, "`fleet config show` lists every setting"),
    )


def _laid_over(key: str, weak: Any, strong: Any) -> Any:
    """A stronger layer replaces a weaker one, but adds to the options of coders and the policy."""
    if key == "coders":
        return _joined(weak or {}, strong)
    return [*(weak or ()), *strong] if key == "policy" else strong


def _joined(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Options of coders: those of the stronger layer win one by one."""
    return {**weak, **{name: {**weak.get(name, {}), **its} for name, its in strong.items()}}
