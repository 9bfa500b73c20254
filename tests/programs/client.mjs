// A client of the TypeScript SDK: `node client.mjs SDK PYTHON REPO PROMPT` prints what it saw, as JSON.
const [sdk, python, repo, prompt] = process.argv.slice(2);
const { Client } = await import(`${sdk}/dist/esm/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/dist/esm/client/stdio.js`);

const client = new Client({ name: "story", version: "1" });
const env = { ...process.env };
await client.connect(new StdioClientTransport({ command: python, args: ["-m", "codefleet", "mcp"], env }));
const call = async (name, given, options) => client.callTool({ name, arguments: given }, undefined, options);

const { tools } = await client.listTools();
const made = await call("create_worker", { repo_path: repo, task_name: "Greet", prompt });
const id = made.structuredContent.worker_id;
let progress = 0;
const waited = await call("wait", { ids: [id], timeout_seconds: 60 }, { onprogress: () => progress++ });
const found = await call("collect_worker_result", { worker_id: id });
const diff = await client.readResource({ uri: `fleet://runs/${found.structuredContent.run_id}/diff` });
const refused = await call("get_worker_status", { worker_id: "nobody" });
const { prompts } = await client.listPrompts();
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name),
  settled: waited.structuredContent.settled,
  progress,
  status: found.structuredContent.status,
  diff: diff.contents[0].text,
  refused: refused.isError,
  why: JSON.parse(refused.content[0].text),
  prompts: prompts.map((each) => each.name),
}));
await client.close();
