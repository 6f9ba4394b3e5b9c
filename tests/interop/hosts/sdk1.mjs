// Stock host: the npm SDK v1 client.   node sdk1.mjs PLAN_JSON [sse]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from './steps.mjs';

const plan = JSON.parse(process.argv[2]);
const capabilities = plan.ask ? { elicitation: {} } : {};
const client = new Client({ name: 'interop-sdk1', version: '1.0.0' }, { capabilities });
if (plan.ask) client.setRequestHandler(ElicitRequestSchema, async () => plan.ask.answer);
const Transport = process.argv[3] === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
const transport = new Transport(new URL(plan.url));
await client.connect(transport);
await run(client, transport, plan, (c, params, onprogress) => c.callTool(params, undefined, { onprogress }));
