import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;

/**
 * Returns a sequencer that runs the files whose paths begin with `longest` first, in this order, so that none of them runs alone at the
 * end. Files of the project `sharing` come after all others: they share processes, and each other file between them would end one.
 */
export function longestFirst(longest: readonly string[], sharing?: string): typeof BaseSequencer {
  const placeOf = ({ moduleId, project }: TestSpecification): number => {
    const place = longest.findIndex((start) => moduleId.slice(ROOT.length).startsWith(start));
    return (project.name === sharing ? 1_000 : 0) + (place < 0 ? longest.length : place);
  };
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      return sorted.sort((a, b) => placeOf(a) - placeOf(b));
    }
  };
}
