"""The keeper of one agent: a tiny separate program, so that the agent outlives any runner.

    python -I -S keeper.py FOLDER

Python compiles a program anew whenever it starts, but not what it imports, so this is all of it.
"""

if __name__ == "__main__":
    import sys

    # -I leaves out all but the standard library.
    sys.path.append(__file__.removesuffix("/codefleet/runner/process/keeper.py"))
    from codefleet.runner.process.keep import keep

    keep(sys.argv[1])
