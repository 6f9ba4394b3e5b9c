// Preloaded (node --require) into stock servers: they listen on every interface and cannot report a
// kernel-picked port. This forces 127.0.0.1 and says on stderr which port it became.
'use strict';
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  const callback = args.findLast((arg) => typeof arg === 'function');
  const first = args[0];
  let options;
  if (first !== null && typeof first === 'object') {
    options = first.path === undefined ? { ...first, host: '127.0.0.1' } : first;
  } else if (typeof first === 'string' && !/^\d+$/.test(first)) {
    options = { path: first };
  } else {
    options = { port: Number(typeof first === 'function' ? 0 : (first ?? 0)), host: '127.0.0.1' };
  }
  this.once('listening', () => {
    const at = this.address();
    if (at && typeof at === 'object') process.stderr.write(`loopback: listening on 127.0.0.1:${at.port}\n`);
  });
  return listen.call(this, options, ...(callback ? [callback] : []));
};
