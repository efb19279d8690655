import type * as Saxes from 'saxes';
import { loadCommonJs } from '../../kernel/load-package.ts';

const { SaxesParser } = loadCommonJs('saxes') as typeof Saxes;

/** A parsed S3 response: the name of the root element, and the text of its direct children. */
export interface S3Answer {
  readonly root: string;
  readonly values: ReadonlyMap<string, string>;
}

/** Choice: a response has a handful of elements. */
const VALUES_MAX = 64;
const VALUE_CHARACTERS_MAX = 4_096;

/** Returns null if the body is not XML. Entities defined by the document itself are not resolved. */
export function readS3Answer(body: Uint8Array): S3Answer | null {
  const parser = new SaxesParser();
  const values = new Map<string, string>();
  const state = { root: '', depth: 0, text: '', isBroken: false };
  parser.on('error', () => {
    state.isBroken = true;
  });
  parser.on('opentag', ({ name }) => {
    if (state.depth++ === 0) state.root = name;
    state.text = '';
  });
  parser.on('text', (more) => {
    if (state.depth === 2 && state.text.length < VALUE_CHARACTERS_MAX) state.text += more;
  });
  parser.on('closetag', ({ name }) => {
    if (state.depth-- === 2 && values.size < VALUES_MAX) values.set(name, state.text);
  });
  // During a long request a service sends blanks, which XML does not allow before the document.
  parser.write(Buffer.from(body).toString('utf8').trim()).close();
  return state.isBroken || state.root === '' ? null : { root: state.root, values };
}

/** Returns the error code if it looks like one; null if the response is not an error. */
export function errorCodeOf(answer: S3Answer | null): string | null {
  if (answer === null || answer.root !== 'Error') return null;
  const code = answer.values.get('Code') ?? '';
  return /^[A-Za-z0-9._-]{1,64}$/.test(code) ? code : 'unreadable';
}

/** Returns the request body that completes a multipart upload. */
export function completeBody(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
