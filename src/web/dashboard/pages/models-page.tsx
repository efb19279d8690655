import type { JSX } from 'preact';
import type { ModelComparisonBody, ModelRowsBody, ModelsBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { useLive } from '../use-live.ts';
import { ComparisonPart } from './models/comparison-part.tsx';
import { ModelList } from './models/model-list.tsx';
import { StockPart } from './models/stock-part.tsx';

const MODELS_MS = 5_000;
/** Choice: each response is a count of up to 100,000 decisions. */
const COUNTS_MS = 60_000;

/** The models of the installation, and what the customer's own decisions say about them. */
export default function ModelsPage(): JSX.Element {
  const models = useLive<ModelsBody>(v1('/models'), { everyMs: MODELS_MS });
  const comparison = useLive<ModelComparisonBody>(v1('/models/compare'), { everyMs: COUNTS_MS });
  const stock = useLive<ModelRowsBody>(v1('/models/rows'), { everyMs: COUNTS_MS });
  return (
    <div class="stack">
      <ModelList models={models} />
      <ComparisonPart comparison={comparison} />
      <StockPart stock={stock} />
    </div>
  );
}
