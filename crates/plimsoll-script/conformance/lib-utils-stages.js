/* { "does": "the stage of a ramp becomes a tag", "settings": {"options_json": "{\"scenarios\": {\"default\": {\"stages\": [{\"duration\": \"10s\", \"target\": 5}, {\"duration\": \"5s\", \"target\": 0}]}}}"}, "tags": {"checks": [{"stage": "1", "stage_profile": "ramp-down"}]} } */
import { tagWithCurrentStageIndex, tagWithCurrentStageProfile } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
import { check } from 'k6';
export default function () {
  tagWithCurrentStageIndex();
  tagWithCurrentStageProfile();
  check(1, { a: true });
}
