// What each SDK host does once connected: list everything, run the plan's steps, end the session.
// The answer is one JSON document on stdout, read by test_interop.py.

const firstText = (result) => result.content?.find((block) => block.type === 'text')?.text ?? '';

/** All items of a paged list; a server without the capability has none. */
async function all(has, list, key) {
  if (!has) return [];
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

/** callTool(client, params, onprogress) hides where the two SDKs differ. */
export async function run(client, transport, plan, callTool) {
  const has = client.getServerCapabilities() ?? {};
  const answer = {
    server: client.getServerVersion()?.name,
    protocol: transport.protocolVersion,
    tools: (await all(has.tools, (p) => client.listTools(p), 'tools')).map((tool) => tool.name),
    prompts: (await all(has.prompts, (p) => client.listPrompts(p), 'prompts')).map((prompt) => prompt.name),
    resources: (await all(has.resources, (p) => client.listResources(p), 'resources')).map((r) => r.uri),
    steps: [],
  };
  for (const step of plan.steps) {
    const progress = [];
    const params = { name: step.tool, arguments: step.args };
    const result = await callTool(client, params, (note) => progress.push(note.progress));
    const resource = (await client.readResource({ uri: step.resource })).contents[0];
    const prompt = (await client.getPrompt({ name: step.prompt, arguments: step.promptArgs })).messages[0];
    answer.steps.push({
      text: firstText(result),
      error: result.isError ?? false,
      progress,
      resource: resource.text,
      prompt: prompt.content.text,
    });
  }
  if (plan.ask) {
    const result = await callTool(client, { name: plan.ask.tool, arguments: {} });
    answer.asked = result.content.map((block) => block.text ?? '');
  }
  await transport.terminateSession?.();
  answer.terminated = true;
  await client.close();
  console.log(JSON.stringify(answer));
}
