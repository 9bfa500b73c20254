"""Variables of earlier systems, and the settings that they stand for."""

OLD_HOME = "FLEET_BASE_DIR"

OLD_NAMES: dict[str, tuple[str, ...]] = {
    "FLEET_DEFAULT_EXECUTOR": ("coder",),
    "FLEET_DEFAULT_MODEL": ("coders", "codex", "model"),
    "FLEET_GEMINI_DEFAULT_MODEL": ("coders", "gemini", "model"),
    "FLEET_CLAUDE_DEFAULT_MODEL": ("coders", "claude", "model"),
    "FLEET_DEFAULT_TIMEOUT": ("timeout_s",),
    "FLEET_MAX_CONCURRENT": ("agents",),
    "FLEET_MAX_SPAWN_DEPTH": ("spawn_depth",),
    "FLEET_RATE_LIMIT_BASE_DELAY": ("limit_rest_s",),
    "FLEET_RATE_LIMIT_MAX_DELAY": ("longest_limit_rest_s",),
    "FLEET_STALE_TIMEOUT": ("stuck_s",),
    "FLEET_STALE_MAX_RESTARTS": ("restarts",),
    "JWT_EXPIRES_IN": ("token_ttl",),
}
"""`FLEET_ALLOWED_REPOS` has the same name here. Two have no effect: `FLEET_RATE_LIMIT_MAX_RETRIES`,
since waiting for a limit costs no attempt, and `FLEET_HEARTBEAT_INTERVAL`, since a runner sends
three heartbeats in each `lease_s`."""
