import { createServer } from 'node:http';

/**
 * Receivers of webhooks that do what costs a sender most, in a process of its own. The path says which: `hang` never responds, `drip` sends
 * a byte a second, `endless` sends as much as is read, `reset` closes, `redirect` sends elsewhere. Prints its port.
 */
const CHUNK = Buffer.alloc(65_536, 'x');

const server = createServer((request, response) => {
  request.resume();
  const kind = request.url?.slice(1) ?? '';
  if (kind.startsWith('reset')) request.socket.destroy();
  else if (kind.startsWith('redirect')) response.writeHead(307, { location: '/hang' }).end();
  else if (kind.startsWith('drip')) {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 1_000);
    response.on('close', () => clearInterval(timer));
  } else if (kind.startsWith('endless')) {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write(CHUNK));
    };
    response.on('drain', more);
    more();
  }
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' && address !== null ? address.port : 0);
});
process.on('SIGTERM', () => process.exit(0));
