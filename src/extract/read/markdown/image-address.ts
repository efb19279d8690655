import type { Element } from 'domhandler';
import { attribute } from '../html.ts';

/** Attributes in which scripts that load images later find their addresses. */
const LAZY = ['data-src', 'data-original', 'data-lazy-src', 'data-url'];
/** Choice: sets with more images than this are cut. */
const SET_MAX = 30;

/** Returns the address of an image as the page has it: that of its largest form, not that of a placeholder. */
export function imageAddressOf(element: Element): string | null {
  for (const name of LAZY) {
    const given = attribute(element, name);
    if (given !== null) return given;
  }
  const set = attribute(element, 'srcset') ?? attribute(element, 'data-srcset');
  return (set === null ? null : largestOf(set)) ?? attribute(element, 'src');
}

function largestOf(set: string): string | null {
  let best: string | null = null;
  let bestSize = 0;
  for (const entry of set.split(/,\s+/, SET_MAX)) {
    const [url = '', size = '1'] = entry.trim().split(/\s+/);
    const number = Number.parseFloat(size);
    if (url === '' || url.startsWith('data:') || !(number > bestSize)) continue;
    [best, bestSize] = [url, number];
  }
  return best;
}
