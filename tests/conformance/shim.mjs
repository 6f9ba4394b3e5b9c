// Lets the suite's hard-coded names meet an endpoint that prefixes them: adds the prefix on the way in,
// strips it on the way out. Everything else passes as it came.
//   node shim.mjs TARGET_URL PREFIX    listens on a free port; prints the URL to use
import http from 'node:http';

const [target, prefix] = process.argv.slice(2);
const url = new URL(target);

function addPrefix(message) {
  const params = message?.params;
  if (!params) return message;
  if (['tools/call', 'prompts/get'].includes(message.method) && typeof params.name === 'string') {
    params.name = prefix + params.name;
  }
  if (message.method === 'completion/complete' && params.ref?.type === 'ref/prompt') {
    params.ref.name = prefix + params.ref.name;
  }
  return message;
}

/** The body for the target; what is not JSON goes on untouched, so that bad input stays bad input. */
function rewritten(body) {
  try {
    const parsed = JSON.parse(body);
    return Buffer.from(JSON.stringify(Array.isArray(parsed) ? parsed.map(addPrefix) : addPrefix(parsed)));
  } catch {
    return body;
  }
}

const stripPrefix = (text) => text.replaceAll(`"name":"${prefix}`, '"name":"');

function headersFor(request, body) {
  const headers = { ...request.headers };
  delete headers['content-length'];
  delete headers['transfer-encoding'];
  if (headers['mcp-name']) headers['mcp-name'] = prefix + headers['mcp-name'];
  if (body.length) headers['content-length'] = body.length;
  return headers;
}

/** Relays line by line: an event is stripped as a whole, and none waits for the next. */
function relay(answer, response) {
  const headers = { ...answer.headers };
  delete headers['content-length'];
  response.writeHead(answer.statusCode, headers);
  response.flushHeaders();
  let rest = '';
  answer.setEncoding('utf8');
  answer.on('data', (chunk) => {
    rest += chunk;
    const end = rest.lastIndexOf('\n') + 1;
    if (end > 0) response.write(stripPrefix(rest.slice(0, end)));
    rest = rest.slice(end);
  });
  answer.on('end', () => response.end(stripPrefix(rest)));
  answer.on('error', () => response.destroy());
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const raw = Buffer.concat(chunks);
    const body = raw.length ? rewritten(raw) : raw;
    const upstream = http.request(
      url,
      { method: request.method, headers: headersFor(request, body) },
      (answer) => relay(answer, response),
    );
    upstream.on('error', () => {
      if (!response.headersSent) response.writeHead(502);
      response.end();
    });
    response.on('close', () => upstream.destroy());
    upstream.end(body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${url.pathname}`));
