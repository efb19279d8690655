import { BroadcastChannel } from 'node:worker_threads';
import { compilePolicies, DEFAULT_DOCUMENT, type PolicySet } from '../risk/policy/policy-set.ts';
import type { PolicyContent, PolicyMessage, PolicySeed } from '../assets/policy-messages.ts';

/** The policies of one score worker. */
export interface WorkerPolicies {
  /** The current policies. They only change in a turn of this thread's event loop: read them once for decisions that must be consistent. */
  current(): PolicySet;
  /** Stops listening. */
  close(): void;
}

/** Opens the policies in workerData, and installs newer ones from the main thread from then on, between two batches. */
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
  // Releases the first document. workerData lives as long as its worker, so it would otherwise stay in memory after a change.
  seed.content = { generation, document: DEFAULT_DOCUMENT, customerNumbers: new Map() };
  channel.postMessage({ kind: 'hello', generation } satisfies PolicyMessage);
  return { current: () => current, close: () => channel.close() };
}

function compile({ document, customerNumbers }: PolicyContent): PolicySet {
  return compilePolicies(document, (id) => customerNumbers.get(id) ?? null);
}
