//! A figure: what was measured, beside what it is compared with.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::statistics::median;

/// One measured thing. The summary is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// What it is, from the suite downwards: `loopback/round-trip/shm/uromd/1-host/1`.
    pub(crate) name: String,
    /// `ns`, `/s`, `instructions` and so on, of the value and of the peer's.
    pub(crate) unit: String,
    /// The median of the launches.
    pub(crate) value: f64,
    /// What it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<Peer>,
    /// The value over the peer's: the median of the launches' ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
    /// The value of each launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) launches: Vec<f64>,
    /// How single samples were spread, over all launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<Distribution>,
    /// What it is held against, for those of the budget table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<Budget>,
    /// Whether that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) met: Option<bool>,
    /// What a reader has to know to understand it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// What a figure is compared with, measured in the same processes and in turns with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    /// Who it is: `raw UCX`.
    pub(crate) name: String,
    /// Its median.
    pub(crate) value: f64,
    /// Its value in each launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) launches: Vec<f64>,
    /// How its single samples were spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<Distribution>,
}

/// What a figure must keep to, and what it should.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Budget {
    /// Which way.
    pub(crate) bound: Bound,
    /// What must hold.
    pub(crate) least: f64,
    /// What is aimed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<f64>,
}

/// Which way a budget goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    AtMost,
    AtLeast,
}

impl Bound {
    /// Whether `measured` keeps to `limit`.
    pub(crate) fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            Bound::AtMost => measured <= limit,
            Bound::AtLeast => measured >= limit,
        }
    }
}

impl Figure {
    /// A value alone.
    pub(crate) fn new(name: impl Into<String>, unit: &str, value: f64) -> Figure {
        Figure {
            name: name.into(),
            unit: unit.to_owned(),
            value,
            peer: None,
            ratio: None,
            launches: vec![value],
            histogram: None,
            budget: None,
            met: None,
            note: None,
        }
    }

    /// Beside a peer's value.
    pub(crate) fn against(mut self, peer: &str, value: f64) -> Figure {
        self.ratio = Some(self.value / value);
        self.peer =
            Some(Peer { name: peer.to_owned(), value, launches: vec![value], histogram: None });
        self
    }

    /// Of rounds that were measured in turns with a peer's. The ratio is the median of those of rounds that followed each other:
    /// a machine that becomes faster or slower in between has no part in it. Nothing of no rounds.
    pub(crate) fn in_turns(
        name: impl Into<String>,
        unit: &str,
        peer: &str,
        [own, peers]: &[Vec<f64>; 2],
    ) -> Option<Figure> {
        let ratios: Vec<f64> = own.iter().zip(peers).map(|(own, peer)| own / peer).collect();
        let figure = Figure::new(name, unit, median(own)?).against(peer, median(peers)?);
        Some(Figure { ratio: Some(median(&ratios)?), ..figure })
    }

    /// With how samples were spread, and the peer's.
    pub(crate) fn histograms(
        mut self,
        own: Option<Distribution>,
        peers: Option<Distribution>,
    ) -> Figure {
        self.histogram = own;
        if let Some(peer) = &mut self.peer {
            peer.histogram = peers;
        }
        self
    }

    /// With what a reader has to know.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Figure {
        self.note = Some(note.into());
        self
    }
}

/// What several launches measured as one list: figures of the same name become one, in the order of their first.
pub(crate) fn merge(launches: Vec<Vec<Figure>>) -> Vec<Figure> {
    let mut groups: Vec<Vec<Figure>> = Vec::new();
    for figure in launches.into_iter().flatten() {
        match groups.iter_mut().find(|group| group[0].name == figure.name) {
            Some(group) => group.push(figure),
            None => groups.push(vec![figure]),
        }
    }
    groups.into_iter().map(merged).collect()
}

/// One of several figures of the same name, of which there is at least one.
fn merged(group: Vec<Figure>) -> Figure {
    let values: Vec<f64> = group.iter().map(|figure| figure.value).collect();
    let ratios: Vec<f64> = group.iter().filter_map(|figure| figure.ratio).collect();
    let peers: Vec<&Peer> = group.iter().filter_map(|figure| figure.peer.as_ref()).collect();
    let peer_values: Vec<f64> = peers.iter().map(|peer| peer.value).collect();
    let peer = peers.first().map(|first| Peer {
        name: first.name.clone(),
        value: median(&peer_values).unwrap_or(first.value),
        histogram: Distribution::sum(peers.iter().filter_map(|peer| peer.histogram.as_ref())),
        launches: peer_values.clone(),
    });
    Figure {
        value: median(&values).unwrap_or(group[0].value),
        ratio: median(&ratios),
        peer,
        histogram: Distribution::sum(group.iter().filter_map(|figure| figure.histogram.as_ref())),
        launches: values,
        ..group[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_merged_by_name_into_medians() {
        let launch = |own: f64, raw: f64| {
            vec![Figure::new("a", "ns", own).against("raw UCX", raw), Figure::new("b", "/s", own)]
        };
        let figures = merge(vec![launch(10.0, 1.0), launch(30.0, 15.0), launch(20.0, 10.0)]);
        assert_eq!(figures.len(), 2);
        assert_eq!(
            (figures[0].value, figures[0].launches.as_slice()),
            (20.0, &[10.0, 30.0, 20.0][..])
        );
        // Of the ratios, not the ratio of the medians.
        assert_eq!(figures[0].ratio, Some(2.0));
        assert_eq!(figures[0].peer.as_ref().map(|peer| peer.value), Some(10.0));
        assert_eq!((figures[1].ratio, &figures[1].peer), (None, &None));
    }

    #[test]
    fn a_machine_that_becomes_slower_meanwhile_has_no_part_in_the_ratio() {
        let rounds = [vec![1.0, 2.0, 4.0, 9.0], vec![2.0, 4.0, 8.0, 16.0]];
        let figure = Figure::in_turns("a", "ns", "C", &rounds).unwrap();
        assert_eq!((figure.value, figure.peer.as_ref().map(|peer| peer.value)), (3.0, Some(6.0)));
        assert_eq!(figure.ratio, Some(0.5));
        assert_eq!(Figure::in_turns("a", "ns", "C", &[vec![], vec![]]), None);
    }

    #[test]
    fn what_another_program_prints_may_leave_out_all_but_the_value() {
        let figure: Figure =
            serde_json::from_str(r#"{"name":"codec/x","unit":"instructions","value":3}"#).unwrap();
        assert_eq!((figure.value, figure.launches.len()), (3.0, 0));
        let text = serde_json::to_string(&figure).unwrap();
        assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), figure);
    }

    #[test]
    fn a_bound_itself_is_within_it() {
        assert!(Bound::AtMost.holds(1.5, 1.5) && !Bound::AtMost.holds(1.51, 1.5));
        assert!(Bound::AtLeast.holds(0.8, 0.8) && !Bound::AtLeast.holds(0.79, 0.8));
        assert!(!Bound::AtMost.holds(f64::NAN, 1.5));
    }
}
