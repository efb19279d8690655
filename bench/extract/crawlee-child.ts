import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

/**
 * Crawls a site with Crawlee as its handbook says, its requests and records on the disk, and prints how long that took. Lives until
 * its parent is done with it.
 *
 * Arguments: Crawlee's module, the folder of its storage, where to begin, requests at the same time.
 */
const [modulePath = '', storage = '', url = '', concurrency = '16'] = process.argv.slice(2);

/** What is used of it. */
interface Crawlee {
  readonly Configuration: new (options: object) => object;
  readonly CheerioCrawler: new (options: object, configuration: object) => CrawleeCrawler;
  readonly log: { setLevel(level: number): void };
}

interface CrawleeCrawler {
  run(urls: readonly string[]): Promise<{ readonly requestsFinished: number }>;
}

interface Context {
  readonly request: { readonly loadedUrl: string };
  readonly $: (selector: string) => {
    text(): string;
    attr(name: string): string | undefined;
    remove(): void;
  };
  readonly enqueueLinks: (options: object) => Promise<unknown>;
  readonly pushData: (data: object) => Promise<void>;
}

const ERRORS_ALONE = 1;

const { CheerioCrawler, Configuration, log } = (await import(pathToFileURL(modulePath).href)) as Crawlee;
log.setLevel(ERRORS_ALONE);
const configuration = new Configuration({
  persistStorage: true,
  purgeOnStart: true,
  storageClientOptions: { localDataDirectory: storage },
});
const crawler = new CheerioCrawler(
  {
    // At once, and not by and by.
    minConcurrency: Number(concurrency),
    maxConcurrency: Number(concurrency),
    async requestHandler({ request, $, enqueueLinks, pushData }: Context) {
      await enqueueLinks({ strategy: 'same-hostname' });
      const title = $('title').text();
      const description = $('meta[name=description]').attr('content') ?? null;
      const language = $('html').attr('lang') ?? null;
      $('script, style, nav, header, footer, aside').remove();
      const text = $('body').text().replaceAll(/\s+/g, ' ').trim();
      await pushData({ url: request.loadedUrl, title, description, language, text });
    },
  },
  configuration,
);
const sinceMs = performance.now();
const { requestsFinished } = await crawler.run([url]);
console.log(JSON.stringify({ crawled: requestsFinished, ms: performance.now() - sinceMs }));
await once(process, 'disconnect');
process.exit(0);
