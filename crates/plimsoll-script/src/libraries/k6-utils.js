// The part of k6-utils that few scripts call; the rest is native. Written for Plimsoll from the public description
// of the functions that scripts import by this name.
import { check as checkNow } from 'k6';
import exec from 'k6/execution';
import { parseDuration } from 'k6-utils';

// A bell curve of stages that peaks at `vus` in the middle of `durationSeconds`.
export function normalDistributionStages(vus, durationSeconds, stageCount = 10) {
  const height = (x) => Math.exp(-(x * x) / 2) / Math.sqrt(2 * Math.PI);
  const peak = height(0);
  const stages = [];
  for (let index = 0; index <= stageCount; index++) {
    const x = -2 + (4 * index) / stageCount;
    const last = index === stageCount;
    const target = last ? 0 : Math.ceil((vus * height(x)) / peak);
    stages.push({ duration: `${Math.ceil(durationSeconds / (stageCount + 1))}s`, target });
  }
  return stages;
}

// Like check of 'k6', for checks that are promises or return them.
export async function check(value, checks, tags = {}) {
  let passed = true;
  for (const [name, test] of Object.entries(checks)) {
    let outcome = false;
    try {
      outcome = await (typeof test === 'function' ? test(await value) : test);
    } catch (error) {
      checkNow(null, { [name]: () => { throw error; } }, tags);
    }
    passed = checkNow(outcome, { [name]: (truth) => truth }, tags) && passed;
  }
  return passed;
}

// The stages of the scenario that runs now, with the time that has passed in it.
function ownStages() {
  const scenario = exec.test.options.scenarios[exec.scenario.name];
  if (scenario === undefined || scenario.stages === undefined || scenario.stages === null) {
    throw new Error(`the scenario ${exec.scenario.name} has no stages; only ramping executors have`);
  }
  return { stages: scenario.stages, passed: Date.now() - exec.scenario.startTime };
}

function lengthOf(stage) {
  return typeof stage.duration === 'number' ? stage.duration : parseDuration(stage.duration);
}

export function getCurrentStageIndex() {
  const { stages, passed } = ownStages();
  let end = 0;
  for (let index = 0; index < stages.length; index++) {
    end += lengthOf(stages[index]);
    if (passed < end) return index;
  }
  return stages.length - 1;
}

export function tagWithCurrentStageIndex() {
  exec.vu.metrics.tags.stage = getCurrentStageIndex();
}

// 'ramp-up', 'steady' or 'ramp-down', by the target of the stage before.
export function tagWithCurrentStageProfile() {
  const { stages } = ownStages();
  const index = getCurrentStageIndex();
  const before = index === 0 ? 0 : stages[index - 1].target;
  const change = stages[index].target - before;
  exec.vu.metrics.tags.stage_profile = change > 0 ? 'ramp-up' : change < 0 ? 'ramp-down' : 'steady';
}
