/* { "does": "the functions of k6-utils", "console": ["true true 8 true", "b null a,c", "5400100 true", "10 true"] } */
import { randomIntBetween, randomItem, randomString, uuidv4, findBetween, parseDuration, normalDistributionStages } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
export default function () {
  const n = randomIntBetween(3, 5);
  console.log(n >= 3 && n <= 5, ['a', 'b'].includes(randomItem(['a', 'b'])), randomString(8).length, uuidv4().length === 36);
  console.log(findBetween('a<b>c', '<', '>'), findBetween('abc', '<', '>'), findBetween('<a><c>', '<', '>', true).join());
  let refused = false;
  try { parseDuration('5x'); } catch (e) { refused = true; }
  console.log(parseDuration('1h30m100ms'), refused);
  const stages = normalDistributionStages(10, 60);
  console.log(Math.max(...stages.map((s) => s.target)), stages.every((s) => /^[0-9]+s$/.test(s.duration)));
}
