// Stock host: the npm SDK v2 client.   node sdk2.mjs PLAN_JSON legacy|auto
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { run } from './steps.mjs';

const plan = JSON.parse(process.argv[2]);
const client = new Client(
  { name: 'interop-sdk2', version: '1.0.0' },
  { capabilities: {}, versionNegotiation: { mode: process.argv[3] } },
);
const transport = new StreamableHTTPClientTransport(new URL(plan.url));
await client.connect(transport);
await run(client, transport, plan, (c, params, onprogress) => c.callTool(params, { onprogress }));
