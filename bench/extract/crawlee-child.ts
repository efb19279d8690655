import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

/**
 * Crawls a site with Crawlee as its documentation describes, with requests and records on disk, and prints the duration. Lives until its
 * parent disconnects.
 *
 * Arguments: module path of Crawlee, storage folder, start URL, concurrency.
 */
const [modulePath = '', storage = '', url = '', concurrency = '16'] = process.argv.slice(2);

/** The part of Crawlee's interface that is used here. */
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
    // Starts at full concurrency; by default Crawlee increases it gradually.
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
