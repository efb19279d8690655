import { createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Serves a tree of pages, each with a menu, some text and links to its neighbours. This separate process shares the processors with the
 * service under test, so every response, including the headers that Node.js would send, is built before the first request, and requests are
 * parsed no further than necessary. Prints its port when it is listening.
 *
 * Arguments: number of pages, paragraphs per page, `unmarked` for pages without `<main>` and `<article>`.
 */
const pages = Number(process.argv[2]);
const paragraphs = Number(process.argv[3]);
const [open, close] =
  process.argv[4] === 'unmarked' ? ['<div><div>', '</div></div>'] : ['<main><article>', '</article></main>'];
const WORDS =
  'the bread of a small town is made before dawn and carried to its doors while streets are still dark because whoever bakes it knows that nobody waits for what is warm'.split(
    ' ',
  );
/** Links per page to pages that the crawler has mostly visited already. */
const NEIGHBOURS = 12;

const ABSENT = answerOf('404 Not Found', '', '');
const answers = new Map(
  Array.from({ length: pages }, (_, n) => {
    const answer = answerOf('200 OK', 'content-type: text/html; charset=utf-8\r\n', markupOf(n));
    return [pathOf(n), answer] as const;
  }),
);
const server = createServer((socket) => {
  let unread = '';
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes: Buffer) => {
    unread += bytes.toString('latin1');
    for (let end = unread.indexOf('\r\n\r\n'); end >= 0; end = unread.indexOf('\r\n\r\n')) {
      answer(socket, unread.slice(0, end));
      unread = unread.slice(end + 4);
    }
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));

function answer(socket: Socket, head: string): void {
  const [, path = ''] = head.split(' ', 2);
  const found = answers.get(path) ?? ABSENT;
  if (/\r\nconnection: close/i.test(head)) socket.end(found);
  else socket.write(found);
}

function answerOf(status: string, headers: string, body: string): Buffer {
  const bytes = Buffer.byteLength(body);
  const date = new Date().toUTCString();
  const kept = 'Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n';
  return Buffer.from(`HTTP/1.1 ${status}\r\n${headers}content-length: ${bytes}\r\nDate: ${date}\r\n${kept}\r\n${body}`);
}

function markupOf(n: number): string {
  const menu = ['Home', 'News', 'Shop', 'About'].map((name, i) => `<li><a href="${pathOf(i)}">${name}</a></li>`);
  const children = [2 * n + 1, 2 * n + 2].filter((to) => to < pages);
  const others = Array.from({ length: NEIGHBOURS }, (_, i) => (n * 31 + i * 17) % pages);
  const links = [...children, ...others].map((to) => `<li><a href="${pathOf(to)}">Page ${to} of them</a></li>`);
  const text = Array.from({ length: paragraphs }, (_, i) => `<p>${sentence(n + i)}</p>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page ${n}</title>
<meta name="description" content="What page ${n} says."><link rel="stylesheet" href="/style.css"></head><body>
<header><nav><ul>${menu.join('')}</ul></nav></header>
${open}<h1>Page ${n}</h1>${text.join('\n')}${close}
<aside><h2>See also</h2><ul>${links.join('\n')}</ul></aside>
<footer><p>All of it may be read.</p></footer></body></html>`;
}

function pathOf(n: number): string {
  return n === 0 ? '/site/' : `/site/${n}.html`;
}

/** About 400 characters, different for each page and paragraph. */
function sentence(from: number): string {
  const words = Array.from({ length: 80 }, (_, i) => WORDS[(from * 7 + i * (1 + (from % 5))) % WORDS.length]);
  return `${from}, ${words.join(' ')}.`;
}
