import { BroadcastChannel } from 'node:worker_threads';
import { compilePolicies, DEFAULT_DOCUMENT, type PolicySet } from '../core/policy-set.ts';
import type { PolicyContent, PolicyMessage, PolicySeed } from '../pools/policy-messages.ts';

/** The policies of one score worker. */
export interface WorkerPolicies {
  /** What counts now. It changes only when this thread's event loop turns: ask once for what must be judged alike. */
  current(): PolicySet;
  /** Stops listening. */
  close(): void;
}

/** Opens the policies out of workerData, and takes newer ones from the main thread from then on, between two batches. */
export function openWorkerPolicies(seed: PolicySeed): WorkerPolicies {
  const channel = new BroadcastChannel(seed.channel);
  let { generation } = seed.content;
  let current = compile(seed.content);
  channel.addEventListener('message', (event: unknown) => {
    const message = (event as { readonly data: PolicyMessage }).data;
    if (message.kind !== 'policy' || message.content.generation <= generation) return;
    ({ generation } = message.content);
    current = compile(message.content);
  });
  // The pool's own port keeps the worker alive, not this channel.
  channel.unref();
  // workerData lives as long as its worker: without this, the first document would stay in memory after a change.
  seed.content = { generation, document: DEFAULT_DOCUMENT, customerNumbers: new Map() };
  channel.postMessage({ kind: 'hello', generation } satisfies PolicyMessage);
  return { current: () => current, close: () => channel.close() };
}

function compile({ document, customerNumbers }: PolicyContent): PolicySet {
  return compilePolicies(document, (id) => customerNumbers.get(id) ?? null);
}
