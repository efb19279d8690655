import type { IgnoredMember } from '../../contract/problem.ts';
import type { EndpointResponse } from './endpoint-types.ts';

/** Adds `warnings` about ignored members of the request to a response that is a JSON object. Source: contract, 2.9. */
export function withWarnings(response: EndpointResponse, ignored: readonly IgnoredMember[]): EndpointResponse {
  if (ignored.length === 0) return response;
  switch (response.kind) {
    case 'json':
      return { ...response, body: withMember(response.body, ignored) };
    case 'text':
      if (!isJson(response)) return response;
      return { ...response, body: `${response.body.slice(0, -1)}${textOf(ignored)}` };
    case 'pieces': {
      const [last, ...others] = response.pieces.toReversed();
      if (last === undefined || !isJson(response)) return response;
      return { ...response, pieces: [...others.toReversed(), last.subarray(0, -1), Buffer.from(textOf(ignored))] };
    }
    case 'stream': {
      const { bytes, pieces } = response.body;
      if (!isJson(response)) return response;
      const end = Buffer.from(textOf(ignored));
      const all = bytes === null ? null : bytes - 1 + end.length;
      return { ...response, body: { ...response.body, bytes: all, pieces: endingIn(end, pieces) } };
    }
    case 'empty':
    case 'problem':
    case 'fault':
      return response;
  }
}

/** Warnings of the endpoint's own come first. */
function withMember(body: unknown, ignored: readonly IgnoredMember[]): unknown {
  const { warnings = [], ...members } = body as { readonly warnings?: readonly unknown[] };
  return { ...members, warnings: [...warnings, ...ignored] };
}

/** The end of a JSON object with at least one member, whose last byte it replaces. */
function textOf(ignored: readonly IgnoredMember[]): string {
  return `,"warnings":${JSON.stringify(ignored)}}`;
}

function isJson({ contentType }: { readonly contentType: string }): boolean {
  return contentType === 'application/json';
}

async function* endingIn(end: Uint8Array, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let last: Uint8Array | null = null;
  for await (const piece of pieces) {
    if (last !== null) yield last;
    last = piece;
  }
  if (last !== null) yield last.subarray(0, -1);
  yield end;
}
