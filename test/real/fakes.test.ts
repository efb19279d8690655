import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/extract/base/connector.ts';
import { mediawikiWorld } from '../sources/mediawiki.ts';
import type { World } from '../sources/source-case.ts';
import { wordpressWorld } from '../sources/wordpress.ts';
import { addressOf } from './software.ts';

/** Returns the path and the type of every value in a JSON response: `query.pages[].title string`. */
function placesIn(value: JsonValue, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => placesIn(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [`${path} ${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([name, inner]) => placesIn(inner, path === '' ? name : `${path}.${name}`));
}

async function asked(address: string): Promise<{ readonly status: number; readonly places: ReadonlySet<string> }> {
  const answer = await fetch(address);
  return { status: answer.status, places: new Set(placesIn((await answer.json()) as JsonValue)) };
}

function fakeOf(world: World, url: string) {
  const reply = world({ method: 'json', url, headers: {}, accept: null, robots: false });
  if (typeof reply !== 'object' || reply === null || reply instanceof Error) throw new Error(`the fake lacks ${url}`);
  return { status: reply.status ?? 200, places: new Set(placesIn(reply.body)) };
}

/** Returns the paths that only the fake's response contains, and the status of both responses. */
async function compared(world: World, real: string, path: string) {
  const fake = fakeOf(world, `https://fake.example${path}`);
  const { status, places } = await asked(`${real}${path}`);
  return { untrue: [...fake.places].filter((place) => !places.has(place)), statuses: [fake.status, status] };
}

describe('the fake WordPress responds like the real one', () => {
  test.each([
    'posts?per_page=100&_embed=author,wp:term,wp:featuredmedia&page=2',
    'pages?per_page=100&_embed=author,wp:term,wp:featuredmedia',
    'comments?per_page=100&page=2',
    'posts?page=1000',
    'pages?page=1000',
    'comments?page=1000',
    'posts?per_page=1000',
  ])('%s', async (query) => {
    const { untrue, statuses } = await compared(wordpressWorld(130), addressOf('REAL_BLOG'), `/wp-json/wp/v2/${query}`);
    expect(untrue).toEqual([]);
    expect(statuses[0]).toBe(statuses[1]);
  });
});

const API = '/w/api.php?format=json&formatversion=2';

describe('the fake MediaWiki responds like the real one', () => {
  test.each([
    'action=query&list=search&srsearch=skiff&srwhat=text&srlimit=500&meta=siteinfo&siprop=general',
    'action=query&list=search&srsearch=skiff&srlimit=500&meta=siteinfo&siprop=general',
    'action=query&list=categorymembers&cmtitle=Category:Boats&cmlimit=500&cmprop=ids|title|type|timestamp&meta=siteinfo&siprop=general',
    'action=query&prop=revisions&titles=Log_book&rvlimit=500&rvprop=ids|timestamp|user|comment|size|flags|tags',
    'action=query&generator=allpages&gaplimit=500&prop=info&inprop=url',
    'action=parse&page=Harbour&redirects=1&prop=text|wikitext|revid|categories|displaytitle|externallinks',
  ])('%s', async (query) => {
    const { untrue, statuses } = await compared(mediawikiWorld(600), addressOf('REAL_WIKI'), `${API}&${query}`);
    expect(untrue).toEqual([]);
    expect(statuses[0]).toBe(statuses[1]);
  });

  test.each([
    'action=parse&page=Nothing&prop=text',
    'action=query&prop=revisions&titles=Nothing&rvlimit=500&rvprop=ids',
  ])('for a missing page, the fake responds like MediaWiki: %s', async (query) => {
    const { untrue, statuses } = await compared(mediawikiWorld(0), addressOf('REAL_WIKI'), `${API}&${query}`);
    expect(untrue).toEqual([]);
    expect(statuses[0]).toBe(statuses[1]);
  });
});
