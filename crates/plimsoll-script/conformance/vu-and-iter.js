/* { "does": "__VU counts from 1 and __ITER from 0; __VU is 0 in the first run of the init code", "k6": "k6 runs the init code once more",
     "iterations": 2, "console": ["init 0", "1 0", "1 1"] } */
console.log('init', __VU);
export default function () { console.log(__VU, __ITER); }
