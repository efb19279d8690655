import { readTag } from './collector-options.ts';
import { createGatehouse, type CollectorApi } from './gatehouse-api.ts';

/** The classic script: `<script src="https://…/v1/collector.js" data-key="pk_live_…" async></script>` */
declare const COLLECTOR_VERSION: string;

const present = (window as { gatehouse?: Partial<CollectorApi> }).gatehouse;
// A page's element with the id `gatehouse` is not a collector.
if (typeof present?.token !== 'function') {
  const tag = document.currentScript;
  const isTag = tag instanceof HTMLScriptElement && tag.src !== '';
  const gatehouse = createGatehouse(isTag ? new URL(tag.src).origin : null);
  Object.defineProperty(window, 'gatehouse', {
    value: Object.freeze({ ...gatehouse, version: COLLECTOR_VERSION }),
    enumerable: true,
  });
  if (isTag) {
    const { options, waits } = readTag(tag);
    if (!waits) gatehouse.start(options);
  }
}
