/* { "does": "__ENV holds the variables, those of the scenario too while it runs", "k6": "k6 runs the init code once more",
     "console": ["init value undefined", "value load undefined"] } */
console.log('init', __ENV.NAME, __ENV.STAGE);
export default function () { console.log(__ENV.NAME, __ENV.STAGE, __ENV.OTHER); }
