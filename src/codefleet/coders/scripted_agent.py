"""The scripted agent: follows the script in its prompt, and reports each step.

The script is a fenced block in the prompt, marked `fleet`, with one step per line:

    ```fleet
    say Looking around
    write src/hello.py <<END
    print("hello")
    END
    edit src/hello.py "hello" "good morning"
    commit Greet politely
    ask Which port? | 8080 | 9090
    append settings.ini "port = {{answer}}"
    finish The greeting is polite now
    on attempt 2
    shell python src/hello.py
    ```

Quote words with spaces as in a shell. Any text can also be given as `<<NAME`: it is then the lines
that follow, up to one that is just NAME. Lines that begin with # are comments.

    write PATH TEXT              create or replace a file, with its folders
    append PATH TEXT             add to the end of a file
    edit PATH OLD NEW            replace the first OLD in a file; fails if there is none
    delete PATH                  remove a file
    shell COMMAND                run `sh -c COMMAND`; fails if it does
    commit MESSAGE               commit everything that has changed
    say TEXT                     print a message
    recite LINES PER_SECOND      print numbered lines at that pace
    usage input=N output=N cached=N cost=USD
    context USED SIZE            report the context used, in tokens
    ask QUESTION | OPTION | ...  end the turn; when resumed, {{answer}} is the answer
    ask-in-file QUESTION | ...   the same, through Q&A.md
    note TEXT                    add to KNOWLEDGE.md, for the next agent on the task
    result STATUS SUMMARY        write result.json; or give its whole text instead
    want STEP                    ask permission for a step (`want shell make`), then do it
    listen                       wait for a human's message; {{message}} is its text
    wait SECONDS                 do nothing for a while
    wait until PATH [SECONDS]    wait for a file, at most that long (default 60)
    limit SECONDS [TEXT]         report that the provider refuses work for that long; end
    broke REASON TEXT            report that it cannot continue; end
    finish [--no-changes] TEXT   report success; end (the last step in any case)
    crash [CODE or SIGNAL]       end without output
    hang                         print nothing and do nothing, forever
    spin                         print nothing and keep a processor busy, forever
    ignore SIGNAL                ignore that signal from here on
    orphan [SECONDS]             leave a process behind in its own session (default 600)

`on attempt N` begins the steps from the Nth run of the task on; they replace the steps before it.
A session that ended its turn with `ask`, `ask-in-file` or `limit` continues with the step after it.
Standard input has one JSON object per line: the prompt, then messages and permissions as they come.

Python compiles a program anew whenever it starts, but not what it imports: the steps themselves are
in `script_steps`.
"""

if __name__ == "__main__":
    import sys

    # -I leaves out all but the standard library.
    sys.path.append(__file__.removesuffix("/codefleet/coders/scripted_agent.py"))
    from codefleet.coders.script_steps import main

    main()
