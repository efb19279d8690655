import { Parser } from 'htmlparser2';
import { Pool } from 'undici';

/**
 * The reference for extraction: fetches the pages of a site over the same number of connections and parses their links and text, without
 * store, queue, address check or rate limit. Runs one crawl per message. Arguments: origin, pages, connections.
 */
const [origin = '', pages = '0', connections = '1'] = process.argv.slice(2);
const pool = new Pool(origin, { connections: Number(connections), pipelining: 1 });

process.on('message', () => {
  void crawl().then((characters) => process.send?.({ characters }));
});
process.on('disconnect', () => process.exit());

async function crawl(): Promise<number> {
  let next = 0;
  let characters = 0;
  const work = async (): Promise<void> => {
    for (let n = next++; n < Number(pages); n = next++) {
      const path = n === 0 ? '/site/' : `/site/${n}.html`;
      const answer = await pool.request({ path, method: 'GET' });
      if (answer.statusCode !== 200) throw new Error(`${path} returned ${answer.statusCode}`);
      characters += JSON.stringify(read(await answer.body.text())).length;
    }
  };
  await Promise.all(Array.from({ length: Number(connections) }, work));
  return characters;
}

function read(markup: string): object {
  const links: string[] = [];
  let text = '';
  const parser = new Parser({
    onopentag(name, { href }) {
      if (name === 'a' && href !== undefined) links.push(href);
    },
    ontext(part) {
      text += part;
    },
  });
  parser.write(markup);
  parser.end();
  return { links: links.map((link) => new URL(link, origin).href), text: text.replaceAll(/\s+/g, ' ').trim() };
}
