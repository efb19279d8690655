import type { Endpoint } from '../endpoint.ts';
import { FORM_PROBLEMS } from '../problem-table.ts';

/** Returns the description of OPTIONS on the path of an endpoint that scripts of web pages may call. Source: contract, 2.7. */
export function preflightOf({ method, path, tag }: Endpoint): Endpoint {
  return {
    method,
    path,
    access: 'none',
    bodyBytesMax: 0,
    tag,
    summary: 'Preflight request of a browser (CORS)',
    description:
      'Browsers send it before a script of another origin calls the path. It needs no key. Without Origin the response has Allow ' +
      'and nothing else.',
    responses: {
      204: {
        description: 'Some public key allows the origin',
        headers: [
          'Access-Control-Allow-Origin',
          'Access-Control-Allow-Methods',
          'Access-Control-Allow-Headers',
          'Access-Control-Max-Age',
          'Allow',
          'Vary',
        ],
      },
    },
    // While the service starts, everything gives `overloaded`.
    problems: [...FORM_PROBLEMS, 'origin_not_allowed', 'overloaded'],
  };
}
