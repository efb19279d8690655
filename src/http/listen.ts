import { loadUws } from './load-uws.ts';
import { listenNode } from './node.ts';
import type { Transport, TransportOptions } from './transport.ts';
import { listenUws } from './uws.ts';

export type TransportChoice = 'auto' | 'uws' | 'node';

export type Listening =
  | { readonly kind: 'listening'; readonly transport: Transport; readonly detail: string }
  | { readonly kind: 'unavailable'; readonly detail: string };

/** Serves by uWebSockets.js where it can be had, else by `node:http`, and says which and why. */
export async function listen(choice: TransportChoice, options: TransportOptions): Promise<Listening> {
  if (choice === 'node')
    return { kind: 'listening', transport: await listenNode(options), detail: 'chosen by setting' };
  const loaded = loadUws();
  if (loaded.kind === 'loaded') {
    return { kind: 'listening', transport: await listenUws(loaded.uws, options), detail: '' };
  }
  if (choice === 'uws') return loaded;
  return { kind: 'listening', transport: await listenNode(options), detail: loaded.detail };
}
