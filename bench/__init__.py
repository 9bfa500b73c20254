"""The measurements behind the numbers in the docs, each beside the raw thing it stands on."""
