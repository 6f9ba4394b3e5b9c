// Stock host: the npm SDK v1 client.   node sdk1.mjs PLAN_JSON
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { run } from './steps.mjs';

const plan = JSON.parse(process.argv[2]);
const client = new Client({ name: 'interop-sdk1', version: '1.0.0' }, { capabilities: {} });
const transport = new StreamableHTTPClientTransport(new URL(plan.url));
await client.connect(transport);
await run(client, transport, plan, (c, params, onprogress) => c.callTool(params, undefined, { onprogress }));
