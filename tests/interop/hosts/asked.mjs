// Stock host that is asked: npm SDK v1 or v2.   node asked.mjs URL v1|v1-sse|v2 ROUNDS
// In each round two calls run at once, one that elicits and one that samples; what their tools got is printed.
const [url, which, rounds] = [new URL(process.argv[2]), process.argv[3], Number(process.argv[4])];
const numberIn = (text) => Number(text.match(/n=(\d+)/)[1]);
const elicited = async (request) => {
  const n = numberIn(request.params.message);
  return n % 2 ? { action: 'decline' } : { action: 'accept', content: { n } };
};
const sampled = async (request) => ({
  role: 'assistant',
  model: 'stock',
  content: { type: 'text', text: `sampled ${numberIn(request.params.messages[0].content.text)}` },
});

const info = { name: `asked-${which}`, version: '1.0.0' };
const capabilities = { elicitation: {}, sampling: {} };
let client;
let transport;
if (which === 'v2') {
  const sdk = await import('@modelcontextprotocol/client');
  client = new sdk.Client(info, { capabilities, versionNegotiation: { mode: 'legacy' } });
  client.setRequestHandler('elicitation/create', elicited);
  client.setRequestHandler('sampling/createMessage', sampled);
  transport = new sdk.StreamableHTTPClientTransport(url);
} else {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { ElicitRequestSchema, CreateMessageRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, elicited);
  client.setRequestHandler(CreateMessageRequestSchema, sampled);
  if (which === 'v1-sse') {
    const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
    transport = new SSEClientTransport(url);
  } else {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    transport = new StreamableHTTPClientTransport(url);
  }
}
await client.connect(transport);

const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const quiz = async (args) => {
  const result = await client.callTool({ name: 'quiz', arguments: args });
  return JSON.parse(result.content[0].text);
};
const got = [];
for (let n = 0; n < rounds; n += 1) {
  got.push(...await Promise.all([
    quiz({ id: `"e${n}"`, method: 'elicitation/create', params: JSON.stringify({ message: `n=${n}`, requestedSchema: schema }) }),
    quiz({ id: `"s${n}"`, method: 'sampling/createMessage', params: JSON.stringify({
      maxTokens: 9, messages: [{ role: 'user', content: { type: 'text', text: `n=${n}` } }] }) }),
  ]));
}
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const progress = [];
const step = { name: 'steps', arguments: { key: which, n: 5, pause: 0.03 } };
const onprogress = (note) => progress.push(note.progress);
await (which === 'v2' ? client.callTool(step, { onprogress }) : client.callTool(step, undefined, { onprogress }));
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify({ got, tools, progress }));
