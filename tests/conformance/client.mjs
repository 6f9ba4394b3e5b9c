// The stock SDK client (v1) that the client-side scenarios are driven with. Knows each scenario by the
// tool its mock server offers; on the aggregate endpoint the names carry a prefix.
//   node client.mjs URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new Client({ name: 'sluice-drive', version: '1.0.0' }, { capabilities: {} });
await client.connect(transport);

let tools = [];
try {
  ({ tools } = await client.listTools());
} catch (error) {
  console.error('tools/list:', error.message); // the handshake scenario offers no tools
}
const find = (name) => tools.find((tool) => tool.name === name || tool.name.endsWith(`-${name}`));
const call = (tool, args) => client.callTool({ name: tool.name, arguments: args });

const schemaTool = find('json_schema_2020_12_tool');
if (find('add_numbers')) console.log(JSON.stringify(await call(find('add_numbers'), { a: 5, b: 3 })));
if (find('test_reconnection')) console.log(JSON.stringify(await call(find('test_reconnection'), {})));
if (find('json_schema_echo')) {
  console.log(JSON.stringify(await call(find('json_schema_echo'), { schema: schemaTool.inputSchema })));
}
await transport.terminateSession().catch((error) => console.error('DELETE:', error.message));
await client.close();
